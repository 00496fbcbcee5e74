//! All pairs: a short list of combinations in which every two settings of any two factors meet.

/// Rows of one index per factor, such that every pair of values of every two factors stands in some row. Greedy, and the same
/// for the same counts. The first row is all zeros.
pub fn pairwise(counts: &[usize]) -> Vec<Vec<usize>> {
    let mut open: Vec<(usize, usize, usize, usize)> = Vec::new();
    for a in 0..counts.len() {
        for b in a + 1..counts.len() {
            for va in 0..counts[a] {
                open.extend((0..counts[b]).map(|vb| (a, va, b, vb)));
            }
        }
    }
    let covers = |row: &[usize], (a, va, b, vb): &(usize, usize, usize, usize)| row[*a] == *va && row[*b] == *vb;
    let mut rows = vec![vec![0; counts.len()]];
    open.retain(|pair| !covers(&rows[0], pair));
    while let Some(&(a, va, b, vb)) = open.first() {
        // Factors that the pair leaves free take the value that meets most open pairs with those that are settled.
        let mut row: Vec<Option<usize>> = vec![None; counts.len()];
        (row[a], row[b]) = (Some(va), Some(vb));
        for factor in 0..counts.len() {
            if row[factor].is_some() {
                continue;
            }
            let gain = |value: usize| {
                let meets = |f: usize, v: usize| (f == factor && v == value) || row[f] == Some(v);
                open.iter().filter(|(a, va, b, vb)| (*a == factor || *b == factor) && meets(*a, *va) && meets(*b, *vb)).count()
            };
            // The last of the best: the first values are met often enough by rows that settle them.
            row[factor] = (0..counts[factor]).max_by_key(|value| gain(*value));
        }
        let row: Vec<usize> = row.into_iter().map(|value| value.expect("every factor has a value")).collect();
        open.retain(|pair| !covers(&row, pair));
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::pairwise;

    #[test]
    fn every_pair_stands_in_some_row() {
        for counts in [vec![4, 2, 2, 2, 2, 2], vec![4, 2, 2, 2, 3, 2, 2], vec![3, 3], vec![1, 2, 1]] {
            let rows = pairwise(&counts);
            for a in 0..counts.len() {
                for b in a + 1..counts.len() {
                    for va in 0..counts[a] {
                        for vb in 0..counts[b] {
                            assert!(rows.iter().any(|row| row[a] == va && row[b] == vb), "{counts:?}: {a}={va} {b}={vb}");
                        }
                    }
                }
            }
            assert!(rows.len() <= 14, "{} rows for {counts:?}", rows.len());
        }
    }
}
