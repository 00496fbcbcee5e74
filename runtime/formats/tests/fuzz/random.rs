//! Random choices, the same on every machine, and what they do to bytes.

/// SplitMix64.
pub struct Random(pub u64);

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 28] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    31,
    32,
    33,
    64,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 61) + 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 31,
    u64::MAX - 7,
    u64::MAX,
];

impl Random {
    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, 0 where that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % (bound.max(1) as u64)) as usize
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A number at which arithmetic goes wrong.
    pub fn number(&mut self) -> u64 {
        self.pick(&NUMBERS)
    }

    /// Spoils a few bytes.
    pub fn spoil(&mut self, case: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.below(case.len());
        let end = (at + 1 + self.below(24)).min(case.len());
        match self.below(10) {
            _ if case.is_empty() => case.extend(self.next().to_le_bytes()),
            0 => case.truncate(at),
            1 => drop(case.drain(at..end)),
            2 => case[at] ^= 1 << self.below(8),
            3 => case[at] = self.next() as u8,
            4 | 5 => {
                let bytes = self.number().to_le_bytes();
                let width = self.pick(&[1, 2, 4, 8]);
                case.iter_mut().skip(at).zip(&bytes[..width]).for_each(|(byte, new)| *byte = *new);
            }
            6 => {
                let piece = case[at..end].to_vec();
                let times = 1 + self.below(3);
                let to = self.below(case.len());
                drop(case.splice(to..to, piece.repeat(times)));
            }
            7 => case.extend(std::iter::repeat_n(self.next() as u8, self.below(64))),
            8 if !pool.is_empty() => {
                let other = &pool[self.below(pool.len())];
                let from = self.below(other.len());
                let tail = &other[from..];
                case.truncate(at);
                case.extend_from_slice(tail);
            }
            _ => {
                let other = self.below(case.len());
                case.swap(at, other);
            }
        }
    }
}
