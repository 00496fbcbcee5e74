//! Small vocabularies by hand; larger ones stand against llama.cpp in the test `tokenizer`.

use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::*;
use crate::rng::SplitMix64;
use crate::tokenizer::{Detokenizer, SpecialTokens, byte_level};

const MERGES: [&str; 6] = ["h e", "l l", "he ll", "hell o", "Ġ w", "Ã ©"];

/// All 256 bytes, a few merges, and three special tokens: `<s>` (256), `</s>` (257) and the user-defined `<tool>` (258).
pub(crate) fn vocabulary() -> GgufVocabulary {
    let mut tokens: Vec<String> = byte_level::ALPHABET.map(String::from).to_vec();
    let mut token_types = vec![TokenType::Normal; 256];
    tokens.extend(["<s>", "</s>", "<tool>"].map(String::from));
    token_types.extend([TokenType::Control, TokenType::Control, TokenType::UserDefined]);
    tokens.extend(MERGES.map(|m| m.replace(' ', "")));
    token_types.resize(tokens.len(), TokenType::Normal);
    GgufVocabulary {
        model: "gpt2".into(),
        pre: Some("gpt-2".into()),
        tokens,
        token_types,
        merges: MERGES.map(String::from).to_vec(),
        bos: Some(256),
        eos: Some(257),
        ..Default::default()
    }
}

/// `<unk>`, `<s>`, `</s>`, the 256 bytes from 3 on, and then these pieces.
fn pieces(pieces: &[(&str, TokenType, f32)]) -> GgufVocabulary {
    let mut tokens = ["<unk>", "<s>", "</s>"].map(String::from).to_vec();
    let mut token_types = vec![TokenType::Unknown, TokenType::Control, TokenType::Control];
    tokens.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    token_types.resize(tokens.len(), TokenType::Byte);
    let mut scores = vec![0.0; tokens.len()];
    for &(text, ty, score) in pieces {
        tokens.push(text.into());
        token_types.push(ty);
        scores.push(score);
    }
    let (bos, eos, unknown) = (Some(1), Some(2), Some(0));
    GgufVocabulary { model: "llama".into(), tokens, token_types, scores, bos, eos, unknown, ..Default::default() }
}

/// The spelling of each id.
fn spell(vocabulary: &GgufVocabulary, text: &str) -> String {
    let ids = Tokenizer::from_gguf(vocabulary).unwrap().encode_text(text).unwrap();
    ids.iter().map(|&id| vocabulary.tokens[id as usize].as_str()).collect::<Vec<_>>().join(" ")
}

/// Adds tokens of a type.
fn add(vocabulary: &mut GgufVocabulary, ty: TokenType, tokens: &[&str]) {
    vocabulary.tokens.extend(tokens.iter().map(|&t| t.to_owned()));
    vocabulary.token_types.resize(vocabulary.tokens.len(), ty);
}

#[test]
fn special_tokens_are_parsed_and_hidden() {
    let tokenizer = Tokenizer::from_gguf(&vocabulary()).unwrap();
    let ids = tokenizer.encode_text("<s>hello w<tool></s>").unwrap();
    assert_eq!(ids, [256, 262, 263, 258, 257]);
    assert_eq!(tokenizer.decode(&ids, SpecialTokens::Hide).unwrap(), "hello w<tool>");
    assert_eq!(tokenizer.decode(&ids, SpecialTokens::Show).unwrap(), "<s>hello w<tool></s>");
    assert_eq!((tokenizer.id("<tool>"), tokenizer.id("tool")), (Some(258), None));
    let named: Vec<_> = tokenizer.named_tokens().iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    assert_eq!(named, [("bos_token", "<s>"), ("eos_token", "</s>")]);
    let absent = tokenizer.decode(&[9_999], SpecialTokens::Hide).unwrap_err();
    assert_eq!(absent.to_string(), "token id 9999 has no token: the vocabulary has 265");
}

#[test]
fn a_bos_is_added_once_where_the_file_asks_for_it() {
    let with = GgufVocabulary { add_bos: Some(true), add_eos: Some(true), ..vocabulary() };
    let tokenizer = Tokenizer::from_gguf(&with).unwrap();
    assert_eq!(tokenizer.encode_text("hello").unwrap(), [256, 262, 257]);
    assert_eq!(tokenizer.encode_rendered("hello").unwrap(), [256, 262]);
    assert_eq!(tokenizer.encode_rendered("<s>hello").unwrap(), [256, 262]);
    let without = Tokenizer::from_gguf(&vocabulary()).unwrap();
    assert_eq!(without.encode_rendered("hello").unwrap(), [262]);
    assert_eq!(without.encode_text("").unwrap(), [0; 0]);
    let llama = Tokenizer::from_gguf(&GgufVocabulary { pre: Some("llama-bpe".into()), ..vocabulary() }).unwrap();
    assert_eq!(llama.encode_text("hello").unwrap(), [256, 262]);
}

/// The case `load-tok-02`: nothing is added, so a BOS that the template writes is no duplicate.
#[test]
fn a_bos_that_only_the_template_writes_stays() {
    let mut glm = vocabulary();
    add(&mut glm, TokenType::Control, &["[gMask]", "<sop>"]);
    glm.bos = Some(265);
    glm.add_bos = Some(false);
    let tokenizer = Tokenizer::from_gguf(&glm).unwrap();
    assert_eq!(tokenizer.encode_rendered("[gMask]<sop>hello").unwrap(), [265, 266, 262]);
}

#[test]
fn byte_pairs_equal_hugging_faces_library() {
    let vocabulary = vocabulary();
    let tokenizer = Tokenizer::from_gguf(&vocabulary).unwrap();
    let vocab: Vocab = vocabulary.tokens.iter().cloned().zip(0..).collect();
    let merges = MERGES.map(|merge| merge.split_once(' ').map(|(a, b)| (a.into(), b.into())).unwrap());
    let mut library = tokenizers::Tokenizer::new(BPE::builder().vocab_and_merges(vocab, merges.to_vec()).build().unwrap());
    library.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    library.with_decoder(Some(ByteLevel::default()));
    library.add_tokens([AddedToken::from("<tool>", false)]).unwrap();
    let parts = ["hello", " w", "é", "日本", "🦀", "\u{1F3FD}", "\r\n", "\t", "  ", "1234", "<tool>", "'ll", "\0"];
    let mut rng = SplitMix64::new(3);
    for _ in 0..500 {
        let text: String = (0..rng.below(12)).map(|_| parts[rng.below(parts.len())]).collect();
        let ids = tokenizer.encode_text(&text).unwrap();
        assert_eq!(ids, library.encode_fast(text.as_str(), false).unwrap().get_ids());
        assert_eq!(tokenizer.decode(&ids, SpecialTokens::Hide).unwrap(), text);
    }
}

#[test]
fn the_highest_score_is_merged_first_and_of_equals_the_leftmost() {
    use TokenType::Normal;
    let one = |score| ("▁a b c ab bc ▁ab abc").split(' ').map(|t| (t, Normal, score)).collect::<Vec<_>>();
    let mut list = one(-9.0);
    list.push(("▁", Normal, -9.0));
    list.push(("a", Normal, -9.0));
    assert_eq!(spell(&pieces(&list), "abab bc"), "<s> ▁ab ab ▁ bc");
    for piece in &mut list {
        piece.2 = if piece.0 == "bc" { -1.0 } else { -9.0 };
    }
    assert_eq!(spell(&pieces(&list), "abc"), "<s> ▁a bc");
    // Zero has one sign.
    list.iter_mut().for_each(|piece| piece.2 = if piece.0 == "bc" { 0.0 } else { -0.0 });
    assert_eq!(spell(&pieces(&list), "abc"), "<s> ▁ab c");
}

#[test]
fn bytes_stand_for_what_no_piece_covers() {
    let mut vocabulary = pieces(&[("▁", TokenType::Normal, -1.0), ("a", TokenType::Normal, -1.0)]);
    assert_eq!(spell(&vocabulary, "aé"), "<s> ▁ a <0xC3> <0xA9>");
    vocabulary.tokens.truncate(3);
    vocabulary.token_types.truncate(3);
    vocabulary.scores.truncate(3);
    assert_eq!(spell(&vocabulary, "é"), "<s> <unk> <unk> <unk> <unk> <unk>");
    vocabulary.unknown = None;
    let refused = Tokenizer::from_gguf(&vocabulary).unwrap_err().to_string();
    assert!(refused.ends_with("there is neither a token `<0x00>` nor one for what is unknown"), "{refused}");
}

#[test]
fn a_space_is_put_before_text_and_taken_out_again() {
    use TokenType::{Normal, UserDefined};
    let mut vocabulary = pieces(&[("▁", Normal, -1.0), ("a", Normal, -1.0), ("▁a", Normal, -1.0), ("<t>", UserDefined, 0.0)]);
    let text = "a a<t>a <s> é<t><t> ";
    assert_eq!(spell(&vocabulary, text), "<s> ▁a ▁a <t> ▁a ▁ <s> ▁ ▁ <0xC3> <0xA9> <t> <t> ▁ ▁");
    let tokenizer = Tokenizer::from_gguf(&vocabulary).unwrap();
    let ids = tokenizer.encode_text(text).unwrap();
    assert_eq!(tokenizer.decode(&ids, SpecialTokens::Show).unwrap(), format!("<s>{text}"));
    assert_eq!(tokenizer.decode(&ids, SpecialTokens::Hide).unwrap(), text.replace("<s>", ""));

    // What continues a text keeps its spaces, and a character is written when its last byte is there.
    let mut detokenizer = Detokenizer::new(SpecialTokens::Hide);
    let mut answer = String::new();
    for (token, so_far) in [("▁a", " a"), ("<0xC3>", " a"), ("<0xA9>", " aé"), ("</s>", " aé"), ("▁a", " aé a")] {
        detokenizer.push(&tokenizer, tokenizer.id(token).unwrap(), &mut answer).unwrap();
        assert_eq!(answer, so_far);
    }

    vocabulary.add_space_prefix = Some(false);
    assert_eq!(spell(&vocabulary, " a<t>a"), "<s> ▁a <t> a");
    let gemma = Tokenizer::from_gguf(&vocabulary).unwrap();
    assert_eq!(gemma.decode(&gemma.encode_text(" a<t> a").unwrap(), SpecialTokens::Hide).unwrap(), " a<t> a");
}

#[test]
fn the_longest_added_token_is_taken_first_wherever_it_stands() {
    let mut vocabulary = vocabulary();
    add(&mut vocabulary, TokenType::Control, &["abc", "bcde", "<a>", "<a><b>"]);
    assert_eq!(spell(&vocabulary, "abcde"), "a bcde");
    assert_eq!(spell(&vocabulary, "abcabcd"), "abc abc d");
    assert_eq!(spell(&vocabulary, "<a><a><b><b>"), "<a> <a><b> < b >");
    // A token that an ordinary file should have marked.
    add(&mut vocabulary, TokenType::Normal, &["<|im_end|>"]);
    assert_eq!(spell(&vocabulary, "a<|im_end|>"), "a <|im_end|>");
    let tokenizer = Tokenizer::from_gguf(&vocabulary).unwrap();
    assert!(tokenizer.is_special(tokenizer.id("<|im_end|>").unwrap()));
}

#[test]
fn phi_3_takes_the_whitespace_behind_its_tokens() {
    let mut vocabulary = vocabulary();
    add(&mut vocabulary, TokenType::Control, &["<|user|>", "<|end|>"]);
    assert_eq!(spell(&vocabulary, "<|user|>\n a<|end|>\n"), "<|user|> Ċ Ġ a <|end|> Ċ");
    vocabulary.name = Some("Phi-3-mini-4k-instruct".into());
    assert_eq!(spell(&vocabulary, "<|user|>\n a<|end|>\n<s> a"), "<|user|> a <|end|> <s> Ġ a");
}

#[test]
fn generations_end_where_the_file_or_the_name_says() {
    let end_ids = |vocabulary: &GgufVocabulary| Tokenizer::from_gguf(vocabulary).unwrap().end_ids().to_vec();
    let mut vocabulary = vocabulary();
    assert_eq!(end_ids(&vocabulary), [257]);
    vocabulary.eot = Some(258);
    assert_eq!(end_ids(&vocabulary), [257, 258]);
    add(&mut vocabulary, TokenType::Control, &["<end_of_turn>", "<|end|>", "<|endoftext|>"]);
    assert_eq!(end_ids(&vocabulary), [257, 258, 265, 266]);
    // With these two, `<|end|>` closes a message of several.
    add(&mut vocabulary, TokenType::Control, &["<|return|>", "<|call|>"]);
    assert_eq!(end_ids(&vocabulary), [257, 258, 265, 268, 269]);
}

#[test]
fn very_long_words_are_merged_in_good_time() {
    // A merge per symbol and a scan per merge would take minutes.
    let text = "hello".repeat(40_000);
    let ids = Tokenizer::from_gguf(&GgufVocabulary { pre: Some("superbpe".into()), ..vocabulary() }).unwrap().encode_text(&text);
    assert_eq!(ids.unwrap().len(), 40_000);
    let scored = pieces(&[("ab", TokenType::Normal, -1.0), ("abab", TokenType::Normal, -2.0)]);
    let ids = Tokenizer::from_gguf(&scored).unwrap().encode_text(&"ab".repeat(100_000)).unwrap();
    assert_eq!(ids.len(), 1 + 3 + 50_000);
}

#[test]
fn refuses_what_does_not_fit_and_says_what() {
    let scored = || pieces(&[("a", TokenType::Normal, -1.0)]);
    let cases = [
        (
            GgufVocabulary { model: "bert".into(), ..vocabulary() },
            "tokenizer.ggml.model`: `bert` is not read by this version; `gpt2` (byte-level BPE) and `llama` (SentencePiece-style) are",
        ),
        (
            GgufVocabulary { pre: Some("jina-v2-de".into()), ..vocabulary() },
            "tokenizer.ggml.pre`: `jina-v2-de` is not a pre-tokenizer that this version knows (gpt-2, ",
        ),
        (GgufVocabulary { pre: None, ..vocabulary() }, "tokenizer.ggml.pre`: is missing: "),
        (
            GgufVocabulary { token_types: vec![TokenType::Normal; 3], ..vocabulary() },
            "tokenizer.ggml.token_type`: 3 types for 265 tokens",
        ),
        (GgufVocabulary { eot: Some(70_000), ..vocabulary() }, "tokenizer.ggml.eot_token_id`: 70000 is outside the 265 tokens"),
        (
            GgufVocabulary { bos: None, add_bos: Some(true), ..vocabulary() },
            "tokenizer.ggml.add_bos_token`: is true, and the file does not say which token that is",
        ),
        (GgufVocabulary { bos: None, pre: Some("llama3".into()), ..vocabulary() }, "tokenizer.ggml.bos_token_id`: is missing, "),
        (
            GgufVocabulary { merges: vec!["he".into()], ..vocabulary() },
            "tokenizer.ggml.merges`: entry 0, `he`, is not two tokens",
        ),
        (
            GgufVocabulary { merges: vec!["x y".into()], ..vocabulary() },
            "tokenizer.ggml.merges`: entry 0, `x y`, and `xy` is not a token",
        ),
        (
            {
                let mut twice = vocabulary();
                twice.tokens[258] = "<s>".into();
                twice
            },
            "tokenizer.ggml.tokens`: `<s>` stands for both 256 and 258",
        ),
        (GgufVocabulary { scores: vec![1.0], ..scored() }, "tokenizer.ggml.scores`: 1 scores for 260 tokens"),
        (
            {
                let mut nan = scored();
                nan.scores[7] = f32::NAN;
                nan
            },
            "tokenizer.ggml.scores`: the score of token 7 is NaN",
        ),
        (
            pieces(&[("<0x1>", TokenType::Byte, 0.0)]),
            "tokenizer.ggml.token_type`: token 259 is of type 6, a byte, and `<0x1>` is none",
        ),
    ];
    for (vocabulary, expected) in cases {
        let text = Tokenizer::from_gguf(&vocabulary).unwrap_err().to_string();
        let expected = format!("GGUF metadata `{expected}");
        assert!(text.starts_with(&expected), "{text}\nexpected: {expected}");
    }
}
