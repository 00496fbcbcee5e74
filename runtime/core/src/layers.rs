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

/// One value per layer, on the heap, where making one can fail.
///
/// # Errors
/// The first that could not be made.
pub fn try_per_layer<T, E, const N: usize>(make: impl FnMut() -> Result<T, E>) -> Result<Box<[T; N]>, E> {
    let layers: Vec<T> = std::iter::repeat_with(make).take(N).collect::<Result<_, E>>()?;
    match layers.try_into() {
        Ok(layers) => Ok(layers),
        Err(_) => unreachable!("the vector has N elements"),
    }
}

/// As [`each_layer`], up to the first layer that fails.
///
/// # Errors
/// What `layer` returned.
pub fn try_each_layer<W, C, E, const N: usize>(
    weights: &[W; N],
    caches: &mut [C; N],
    mut layer: impl FnMut(&W, &mut C) -> Result<(), E>,
) -> Result<(), E> {
    weights.iter().zip(caches).try_for_each(|(w, c)| layer(w, c))
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

    #[test]
    fn the_first_failure_ends_the_layers() {
        let weights: [usize; 3] = layer_range(0);
        let mut caches: Box<[usize; 3]> = try_per_layer(|| Ok::<usize, ()>(0)).unwrap();
        let result = try_each_layer(&weights, &mut caches, |w, c| {
            *c = 7;
            if *w == 1 { Err(*w) } else { Ok(()) }
        });
        assert_eq!((result, *caches), (Err(1), [7, 7, 0]));
        assert_eq!(try_per_layer::<usize, _, 2>(|| Err("no room")).unwrap_err(), "no room");
    }
}
