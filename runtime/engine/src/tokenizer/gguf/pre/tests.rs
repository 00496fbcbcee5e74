//! Cuts by hand; the ids of every name stand against llama.cpp's in the test `tokenizer`.

use super::*;
use crate::rng::SplitMix64;

fn cut<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
    Splitter::new(PreTokenizer::named(name).unwrap()).words(text)
}

#[test]
fn each_family_cuts_as_its_regex_says() {
    let text = "I'LL pay  1234 €!!\n\n  it's";
    assert_eq!(cut("gpt-2", text), ["I", "'", "LL", " pay", " ", " 1234", " €!!", "\n\n ", " it", "'s"]);
    assert_eq!(cut("smollm", text), ["I", "'", "LL", " pay", "  ", "1", "2", "3", "4", " €!!", "\n\n ", " it", "'s"]);
    assert_eq!(cut("llama-bpe", text), ["I", "'LL", " pay", " ", " ", "123", "4", " €!!\n\n", " ", " it", "'s"]);
    assert_eq!(cut("qwen2", text), ["I", "'LL", " pay", " ", " ", "1", "2", "3", "4", " €!!\n\n", " ", " it", "'s"]);
    assert_eq!(cut("tekken", "HTTPServer éA aB/\n"), ["HTTPServer", " é", "A", " a", "B", "/\n"]);
    assert_eq!(cut("gpt-4o", "It's DON'T"), ["It's", " DON'T"]);
    assert_eq!(cut("deepseek-v3", "3.1415 天地かな x"), ["3", ".", "141", "5", " ", "天地かな", " x"]);
}

#[test]
fn digits_are_grouped_from_either_end() {
    assert_eq!(cut("llama-bpe", "12345678"), ["123", "456", "78"]);
    assert_eq!(cut("superbpe", "12345678 123"), ["12", "345", "678", " ", "123"]);
    // What stands before a number and its first group are one piece of the first pass, which the second pass cuts.
    assert_eq!(cut("tiny_aya", "n12345678"), ["n", "12", "345", "678"]);
}

#[test]
fn a_run_of_spaces_leaves_its_last_one_to_the_word() {
    assert_eq!(cut("llama-bpe", "a   b   "), ["a", "  ", " b", "   "]);
    assert_eq!(cut("gpt-2", "a\u{3000}\u{3000}b"), ["a", "\u{3000}", "\u{3000}", "b"]);
    let spaces = " ".repeat(512 + 512 + 16 + 2 + 1 + 1);
    let lengths = |text: &str| cut("jais-2", text).iter().map(|word| word.len()).collect::<Vec<_>>();
    assert_eq!(lengths(&format!("{spaces}x")), [512, 512, 16, 2, 1, 2]);
    assert_eq!(lengths(&spaces), [512, 512, 16, 4]);
}

#[test]
fn words_are_the_text_whatever_it_is() {
    let long = format!("a{}b{}c{}", " ".repeat(100_000), "\n".repeat(100_000), "1".repeat(10_000));
    let parts = [
        "a", "B", "é", " ", "  ", "\n", "\r\n", "\t", "'s", "'", "12", "½", "日本", "ร", "!", "…", "🦀", "\u{301}", "\0",
        "\u{3000}",
    ];
    let mut rng = SplitMix64::new(11);
    for name in PreTokenizer::names() {
        let splitter = Splitter::new(PreTokenizer::named(name).unwrap());
        for round in 0..60 {
            let text = match round {
                0 => long.clone(),
                _ => (0..rng.below(20)).map(|_| parts[rng.below(parts.len())]).collect(),
            };
            let words = splitter.words(&text);
            assert_eq!(words.concat(), text, "{name}");
            assert!(!words.contains(&""), "{name}: {text:?}");
        }
    }
}

#[test]
fn names_are_unique_and_unknown_ones_are_not_guessed() {
    let mut names: Vec<_> = PreTokenizer::names().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(PreTokenizer::named("jina-v2-de").is_none());
}

#[test]
fn every_name_stands_against_llama_cpp() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tokenizer/llama_cpp.txt");
    let golden = std::fs::read_to_string(path).unwrap();
    let cases: Vec<&str> = golden.lines().flat_map(|row| row.split(' ').next().unwrap_or_default().split(',')).collect();
    for name in PreTokenizer::names() {
        assert!(cases.contains(&format!("bpe/{name}").as_str()), "{name}: write its row with tests/tokenizer/reference.py");
    }
}
