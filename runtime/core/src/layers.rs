//! Arrays over layers, with the layer count in the type: a table that is one short does not compile.

/// The layers `first .. first + N`.
pub const fn layer_range<const N: usize>(first: usize) -> [usize; N] {
    let mut layers = [0; N];
    let mut i = 0;
    while i < N {
        layers[i] = first + i;
        i += 1;
    }
    layers
}

/// One value per layer, on the heap.
pub fn per_layer<T, const N: usize>(make: impl FnMut() -> T) -> Box<[T; N]> {
    let layers: Vec<T> = std::iter::repeat_with(make).take(N).collect();
    match layers.try_into() {
        Ok(layers) => layers,
        Err(_) => unreachable!("the vector has N elements"),
    }
}

/// Calls `layer` with the weights and the cache of each layer, in order. Both tables have the same length, by type.
pub fn each_layer<W, C, const N: usize>(weights: &[W; N], caches: &mut [C; N], mut layer: impl FnMut(&W, &mut C)) {
    for (w, c) in weights.iter().zip(caches) {
        layer(w, c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_meets_its_own_cache_in_order() {
        let weights: [usize; 3] = layer_range(4);
        let mut next = 0;
        let mut caches: Box<[usize; 3]> = per_layer(|| {
            next += 1;
            next
        });
        let mut seen = Vec::new();
        each_layer(&weights, &mut caches, |w, c| seen.push((*w, *c)));
        assert_eq!(seen, [(4, 1), (5, 2), (6, 3)]);
    }
}
