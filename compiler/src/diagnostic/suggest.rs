//! Did you mean: the few known names that a misspelt one may stand for.

/// At most this many names are suggested.
const MOST: usize = 3;

/// The known names that `wanted` is plausibly a misspelling of, the nearest first, at most three.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_ascii_lowercase();
    let mut ranked: Vec<(usize, &str)> = known.into_iter().filter_map(|name| Some((distance(&wanted, name)?, name))).collect();
    ranked.sort();
    ranked.dedup();
    // Beside a slip of one letter, four letters are no candidate.
    let least = ranked.first().map_or(0, |(edits, _)| *edits);
    ranked.retain(|(edits, _)| *edits <= least + 1);
    ranked.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Edits from one name to the other, or `None` when there are too many for a slip.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    // Long names differ by whole words ("n_heads", "num_heads"), which many edits apart still mean the same; short names
    // ("gqa", "mla") mean something else after two.
    let allowed = wanted.chars().count().max(name.chars().count()) / 3;
    let edits = strsim::damerau_levenshtein(wanted, &name);
    if edits <= allowed {
        return Some(edits);
    }
    // A name with a word left out or added ("kv_heads" for "num_kv_heads") is further away than any slip.
    let (short, long) = if wanted.len() < name.len() { (wanted, name.as_str()) } else { (name.as_str(), wanted) };
    let whole_words = || {
        let mut words = long.split('_');
        short.split('_').all(|word| words.any(|w| w == word))
    };
    (short.len() >= 4 && whole_words()).then_some(edits.max(allowed + 1))
}

/// "did you mean `a`, `b` or `c`?", or `None` when no known name is near.
pub fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names = nearest(wanted, known);
    (!names.is_empty()).then(|| format!("did you mean {}?", listed(&names, "or")))
}

/// "`a`, `b` and `c`", or with another word before the last.
pub fn listed<T: AsRef<str>>(names: &[T], word: &str) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} {word} `{}`", quoted(most), last.as_ref()),
        _ => quoted(names),
    }
}

/// "`a`, `b`, `c`"
pub fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    names.join(", ")
}

/// `12,345,678`
pub fn thousands(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 6] =
        ["hidden_size", "vocab_size", "num_attention_heads", "num_key_value_heads", "rms_norm_eps", "head_dim"];

    #[test]
    fn slips_are_recognised() {
        assert_eq!(nearest("hiden_size", KEYS), ["hidden_size"]);
        assert_eq!(nearest("num_atention_heads", KEYS), ["num_attention_heads"]);
        assert_eq!(nearest("Head_Dim", KEYS), ["head_dim"]);
    }

    #[test]
    fn a_slip_of_one_letter_leaves_no_doubt() {
        assert_eq!(nearest("kernel-gpa", ["kernel-gap", "kernel-param"]), ["kernel-gap"]);
    }

    #[test]
    fn names_that_lack_a_word_are_recognised() {
        assert_eq!(nearest("attention_heads", KEYS), ["num_attention_heads"]);
        assert_eq!(nearest("norm_eps", KEYS), ["rms_norm_eps"]);
    }

    #[test]
    fn nothing_far_away_is_suggested() {
        assert!(nearest("beta_fast", KEYS).is_empty());
        assert!(nearest("mla", ["gqa"]).is_empty());
        assert!(nearest("", KEYS).is_empty());
    }

    #[test]
    fn at_most_three() {
        assert_eq!(nearest("aaaaa", ["aaaab", "aaaac", "aaaad", "aaaae"]), ["aaaab", "aaaac", "aaaad"]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(134_515_008_u64), "134,515,008");
        assert_eq!(thousands(12_u64), "12");
        assert_eq!(thousands(u128::MAX), "340,282,366,920,938,463,463,374,607,431,768,211,455");
    }

    #[test]
    fn lists_read_as_prose() {
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
        assert_eq!([listed(&["a"], "and"), listed(&["a", "b", "c"], "and")], ["`a`", "`a`, `b` and `c`"]);
        assert_eq!(did_you_mean("x", []), None);
        assert_eq!(did_you_mean("num_head", ["num_heads"]).as_deref(), Some("did you mean `num_heads`?"));
        let question = did_you_mean("aaaaa", ["aaaab", "aaaac", "aaaad"]);
        assert_eq!(question.as_deref(), Some("did you mean `aaaab`, `aaaac` or `aaaad`?"));
    }
}
