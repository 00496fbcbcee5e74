//! Ids of calls, messages and requests.

use tenon_engine::random_seed;
use tenon_formats::tools::ToolParser;

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Letters and digits of an id behind its prefix.
const LENGTH: usize = 24;
/// Letters and digits of Mistral's ids, which its templates refuse in any other form.
const MISTRAL: usize = 9;

/// A new id for a call that this parser reads: clients send it back, and the model's template may look at it.
pub(super) fn call_id(prefix: &str, parser: Option<ToolParser>) -> String {
    match parser {
        Some(ToolParser::Mistral) => random(MISTRAL),
        _ => id(prefix),
    }
}

/// A new id, of something that only people and logs look at.
pub(super) fn id(prefix: &str) -> String {
    format!("{prefix}{}", random(LENGTH))
}

fn random(length: usize) -> String {
    let mut bits = 0u64;
    let letter = |i: usize| {
        // Ten of 62 letters fit in 64 bits.
        if i.is_multiple_of(10) {
            bits = random_seed();
        }
        let letter = ALPHABET[(bits % 62) as usize];
        bits /= 62;
        char::from(letter)
    };
    (0..length).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_have_the_form_that_templates_take() {
        let ids: std::collections::HashSet<String> = (0..1_000).map(|_| call_id("call_", None)).collect();
        assert_eq!(ids.len(), 1_000);
        let has_form = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert!(ids.iter().all(|id| id.len() == 29 && id.strip_prefix("call_").is_some_and(has_form)));
        let short = call_id("call_", Some(ToolParser::Mistral));
        assert!(short.len() == 9 && has_form(&short), "{short}");
        assert!(call_id("toolu_", Some(ToolParser::Hermes)).starts_with("toolu_"));
    }
}
