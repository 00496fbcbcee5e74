//! Ids that are invented for calls.

use super::ToolParser;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl ToolParser {
    /// An id for a call, of random bits. Templates of Mistral's models take ids of nine letters and digits and no others; elsewhere
    /// an id is the prefix of the API (`call_`, `toolu_`) and 24 letters and digits.
    pub fn call_id(self, prefix: &str, random: [u64; 3]) -> String {
        // Eight digits of base 62 take less than 48 bits, so that the bias is below 2^-16.
        let digits = random.into_iter().flat_map(|bits| {
            (0..8).scan(bits, |rest, _| {
                let digit = ALPHABET[(*rest % 62) as usize];
                *rest /= 62;
                Some(char::from(digit))
            })
        });
        match self {
            Self::Mistral => digits.take(9).collect(),
            _ => prefix.chars().chain(digits).collect(),
        }
    }
}
