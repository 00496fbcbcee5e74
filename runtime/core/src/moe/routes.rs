//! `Routes`: the experts of each token of a batch, and the tokens of each expert.

/// For each token its `K` of `E` experts, with their weights.
#[derive(Clone, Debug)]
pub struct Routes<const E: usize, const K: usize>(Table);

impl<const E: usize, const K: usize> Routes<E, K> {
    /// Routes of at most `max_tokens` tokens.
    pub fn new(max_tokens: usize) -> Self {
        const { assert!(0 < K && K <= E, "a token goes to 1 to all experts") };
        assert!(E.max(max_tokens.saturating_mul(K)) < u32::MAX as usize, "{max_tokens} tokens are more than a batch can have");
        Self(Table {
            of_token: K,
            expert: Vec::with_capacity(max_tokens * K),
            weight: Vec::with_capacity(max_tokens * K),
            start: vec![0; E + 1],
            token: Vec::with_capacity(max_tokens * K),
            place: Vec::with_capacity(max_tokens * K),
        })
    }

    /// Tokens that were routed last.
    pub fn tokens(&self) -> usize {
        self.0.expert.len() / K
    }

    /// The experts of a token, the one with the best score first.
    pub fn experts(&self, token: usize) -> &[u32; K] {
        self.0.expert[token * K..][..K].try_into().expect("the slice has K elements")
    }

    /// The weights of a token's experts, in the same order.
    pub fn weights(&self, token: usize) -> &[f32; K] {
        self.0.weight[token * K..][..K].try_into().expect("the slice has K elements")
    }

    /// Bytes held, at capacity.
    pub fn bytes(&self) -> usize {
        let Table { expert, weight, start, token, place, .. } = &self.0;
        4 * (expert.capacity() + weight.capacity() + start.capacity() + token.capacity() + place.capacity())
    }

    /// Makes room for `tokens` tokens, and gives their experts and weights to be written.
    ///
    /// # Panics
    /// If there are more than `max_tokens`.
    pub(crate) fn set_tokens(&mut self, tokens: usize) -> (&mut [u32], &mut [f32]) {
        let Table { expert, weight, .. } = &mut self.0;
        assert!(tokens * K <= expert.capacity(), "{tokens} tokens in routes for {}", expert.capacity() / K);
        expert.resize(tokens * K, 0);
        weight.resize(tokens * K, 0.0);
        (expert, weight)
    }

    pub(crate) fn table_mut(&mut self) -> &mut Table {
        &mut self.0
    }

    pub(crate) fn table(&self) -> &Table {
        &self.0
    }
}

/// Routes with their numbers as values. A route is `token * of_token + k`.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Routes of a token.
    pub(crate) of_token: usize,
    pub(crate) expert: Vec<u32>,
    pub(crate) weight: Vec<f32>,
    /// Rows sorted by expert: those of expert `e` are `start[e]..start[e + 1]`.
    pub(crate) start: Vec<u32>,
    /// The token of each row.
    pub(crate) token: Vec<u32>,
    /// The row of each route.
    pub(crate) place: Vec<u32>,
}

impl Table {
    /// Sorts the routes by expert; within an expert they stay in the order of the tokens.
    pub(crate) fn sort(&mut self) {
        let Self { of_token, expert, start, token, place, .. } = self;
        start.fill(0);
        for &e in expert.iter() {
            start[e as usize + 1] += 1;
        }
        for e in 1..start.len() {
            start[e] += start[e - 1];
        }
        token.resize(expert.len(), 0);
        place.resize(expert.len(), 0);
        // `start[e]` runs to the end of expert `e`, which is where the next one began.
        for (route, &e) in expert.iter().enumerate() {
            let row = &mut start[e as usize];
            token[*row as usize] = (route / *of_token) as u32;
            place[route] = *row;
            *row += 1;
        }
        start.rotate_right(1);
        start[0] = 0;
    }
}
