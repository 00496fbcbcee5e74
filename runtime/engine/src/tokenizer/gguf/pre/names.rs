//! Pre-tokenizers by the name that `tokenizer.ggml.pre` gives them.

use super::Spaces::{LeaveLast, LeaveLastOfLine, PowersOfTwo};
use super::Step::{self, AfterThousands, BeforeThousands, Isolate, Words};

/// How text is cut before the merges, and what else goes with that name.
pub(in crate::tokenizer) struct PreTokenizer {
    names: &'static [&'static str],
    pub(super) steps: &'static [Step],
    /// A piece that is a token as a whole is not merged from its bytes.
    pub(in crate::tokenizer) whole_words: bool,
    /// What holds when the file does not say `add_bos_token`.
    pub(in crate::tokenizer) add_bos: bool,
}

macro_rules! contraction {
    () => {
        r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
    };
}

/// Letters with at most one other character before them.
macro_rules! letters {
    ($letters:literal) => {
        concat!(r"[^\r\n\p{L}\p{N}]?", $letters)
    };
}

/// The end of most regexes: what is neither letter nor digit, and whitespace.
macro_rules! rest {
    ($other:literal) => {
        concat!(r"| ?", $other, r"|\s*[\r\n]+|\s+")
    };
}

macro_rules! gpt_4 {
    ($digits:literal) => {
        concat!(contraction!(), "|", letters!(r"\p{L}+"), "|", $digits, rest!(r"[^\s\p{L}\p{N}]+[\r\n]*"))
    };
}

macro_rules! upper_then_lower {
    () => {
        concat!(letters!(r"(?:[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*)"))
    };
}

macro_rules! deepseek_v3_words {
    ($other:literal, $lines:literal) => {
        concat!(
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
            r"| ?",
            $other,
            "|",
            $lines,
            r"|\s+"
        )
    };
}

const GPT_2: Step = Words(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", LeaveLast);
const LLAMA_3: Step = Words(gpt_4!(r"\p{N}{1,3}"), LeaveLastOfLine);
const QWEN_2: Step = Words(gpt_4!(r"\p{N}"), LeaveLastOfLine);
const DIGIT: Step = Isolate(r"\p{N}");
const THREE_DIGITS: Step = Isolate(r"\p{N}{1,3}");
const HAN_AND_KANA: Step = Isolate("[一-龥\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+");
const NO_SENTENCE_MARKS: Step = Isolate(r" ?[^(\s|.,!?…。，、।۔،)]+");
/// Whitespace is left out of the ranges, since llama.cpp's regex engine sees it as a vertical tab.
const DEEPSEEK_CJK: Step = Isolate("[[一-龥\u{800}-一가-\u{D7FF}]&&\\S]+");

/// Blocks of Han characters, as llama.cpp has them for Kimi K2.
macro_rules! han {
    () => {
        concat!(
            r"\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}",
            r"\x{2CEB0}-\x{2EBEF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}"
        )
    };
}

/// DeepSeek LLM's letters: those with case, as Unicode had them then, without mathematical ones.
macro_rules! cased_letters {
    () => {
        concat!(
            r"A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}",
            r"\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}",
            r"\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}",
            r"\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}",
            r"\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}",
            r"\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}",
            r"\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}",
            r"\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}",
            r"\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}",
            r"\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}",
            r"\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}",
            r"\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}",
            r"\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}",
        )
    };
}

/// A pre-tokenizer without flags.
const fn plain(names: &'static [&'static str], steps: &'static [Step]) -> PreTokenizer {
    PreTokenizer { names, steps, whole_words: false, add_bos: false }
}

impl PreTokenizer {
    const fn whole_words(self) -> Self {
        Self { whole_words: true, ..self }
    }

    const fn add_bos(self) -> Self {
        Self { add_bos: true, ..self }
    }
}

/// What llama.cpp's `llama-vocab.cpp` and `unicode.cpp` do for each name. Where that differs from the model's `tokenizer.json`,
/// the GGUF was made for llama.cpp: `tekken` and `gpt-4o` take letters outside ASCII for both cases, `tiny_aya` all letters, and
/// Qwen2's normalisation to NFC is left out. Encoders of text (jina, roberta, modern-bert) have other rules beside the regex, and
/// are not here. Character classes are those of the `regex` crate's Unicode version; characters that are younger than llama.cpp's
/// tables (Unicode 15) are unassigned there, and cut otherwise.
const PRE_TOKENIZERS: &[PreTokenizer] = &[
    plain(
        &["gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat", "a.x-4.0", "mellum", "exaone4"],
        &[GPT_2],
    ),
    plain(&["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"], &[DIGIT, GPT_2]),
    plain(&["default"], &[Isolate(r"[\p{P}\$\+<=>\^~\|]+"), GPT_2, Isolate(r"\p{N}+"), Isolate("[0-9][0-9][0-9]")]),
    plain(&["falcon"], &[Isolate(r"[\p{P}\$\+<=>\^~\|`]+"), GPT_2, Isolate("[0-9][0-9][0-9]")]),
    plain(&["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"], &[LLAMA_3])
        .whole_words()
        .add_bos(),
    plain(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA_3]),
    plain(&["glm4", "glm5"], &[LLAMA_3]).whole_words(),
    plain(
        &["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez", "hunyuan", "solar-open", "grok-2"],
        &[QWEN_2],
    ),
    plain(
        &["qwen35"],
        &[Words(
            concat!(contraction!(), "|", letters!(r"[\p{L}\p{M}]+"), r"|\p{N}", rest!(r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*")),
            LeaveLastOfLine,
        )],
    ),
    plain(&["laguna"], &[Isolate(r"[^\n]+|[\n]+"), QWEN_2]),
    plain(&["ufakzeka"], &[Words(concat!(letters!(r"\p{L}+"), r"|\p{N}", rest!(r"[^\s\p{L}\p{N}]+[\r\n]*")), LeaveLastOfLine)]),
    plain(
        &["seed-coder"],
        &[Words(concat!(contraction!(), "|", letters!(r"\p{L}+"), r"|\p{N}", rest!(r"[^\s\p{L}\p{N}\r\n]+")), LeaveLastOfLine)],
    ),
    plain(
        &["bailingmoe", "bailingmoe2", "llada-moe"],
        &[Words(
            concat!(contraction!(), "|", letters!(r"\p{L}+"), r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+"),
            LeaveLastOfLine,
        )],
    ),
    plain(
        &["exaone-moe"],
        &[Words(
            concat!(
                contraction!(),
                "|",
                letters!(r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+"),
                r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+"
            ),
            LeaveLastOfLine,
        )],
    ),
    plain(&["minicpm5"], &[THREE_DIGITS, Words(gpt_4!(r"\p{N}+"), LeaveLastOfLine)]).whole_words(),
    plain(&["jais-2"], &[Words(gpt_4!(r"\p{N}{1,3}"), PowersOfTwo)]),
    plain(&["tekken"], &[Words(concat!(upper_then_lower!(), r"|\p{N}", rest!(r"[^\s\p{L}\p{N}]+[\r\n/]*")), LeaveLastOfLine)])
        .whole_words()
        .add_bos(),
    plain(
        &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"],
        &[Words(
            concat!(upper_then_lower!(), "(?:", contraction!(), r")?|\p{N}{1,3}", rest!(r"[^\s\p{L}\p{N}]+[\r\n/]*")),
            LeaveLastOfLine,
        )],
    ),
    plain(
        &["tiny_aya", "cohere2moe"],
        &[
            AfterThousands,
            Words(
                concat!(letters!(r"[\p{L}\p{M}]+"), "(?:", contraction!(), r")?|\p{N}{1,3}", rest!(r"[^\s\p{L}\p{N}]+[\r\n/]*")),
                LeaveLastOfLine,
            ),
        ],
    ),
    plain(
        &["youtu"],
        &[
            Isolate("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+"),
            Words(
                concat!(letters!(r"[\p{L}\p{M}]+"), "(?:", contraction!(), r")?|\p{N}", rest!(r"[^\s\p{L}\p{N}]+[\r\n/]*")),
                LeaveLastOfLine,
            ),
        ],
    )
    .whole_words(),
    plain(
        &["kimi-k2"],
        &[Words(
            concat!(
                "[",
                han!(),
                r"]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^",
                han!(),
                "]]+(?:",
                contraction!(),
                r")?|\p{N}{1,3}",
                rest!(r"[^\s\p{L}\p{N}]+[\r\n]*")
            ),
            LeaveLastOfLine,
        )],
    ),
    plain(
        &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        &[THREE_DIGITS, HAN_AND_KANA, Words(deepseek_v3_words!(r"[\p{P}\p{S}]+[\r\n]*", r"\s*[\r\n]+"), LeaveLastOfLine)],
    ),
    plain(&["spark2_5"], &[THREE_DIGITS, HAN_AND_KANA, Words(deepseek_v3_words!(r"[\p{P}\p{S}]+", r"[\r\n]"), LeaveLast), DIGIT]),
    plain(
        &["afmoe"],
        &[
            AfterThousands,
            Isolate(concat!(
                "[一-\u{9FFF}㐀-\u{4DBF}\u{8C48}-\u{FAFF}\u{3040}-\u{309F}\u{30A0}-\u{30FF}･-ﾟ⼀-\u{2FDF}",
                "\u{E40}-\u{E7F}\u{E80}-\u{EFF}\u{1780}-\u{17FF}\u{1000}-\u{109F}\u{AA60}-\u{AA7F}\u{A9E0}-\u{A9FF}",
                "가-\u{D7AF}\u{1100}-\u{11FF}]+"
            )),
            Words(deepseek_v3_words!(r"[\p{P}\p{S}]+[\r\n]*", r"\s*[\r\n]+"), LeaveLastOfLine),
        ],
    ),
    plain(
        &["deepseek-llm"],
        &[
            Isolate(r"[\r\n]"),
            Isolate(concat!(r"\s?[", cased_letters!(), "]+")),
            Isolate(r"\s?[!-/:-~！-／：-～‘-‟、-。]+"),
            Isolate(r"\s+$"),
            DEEPSEEK_CJK,
            Isolate(r"\p{N}+"),
        ],
    ),
    plain(&["deepseek-coder"], &[Isolate(r"[\r\n]"), Isolate(r"\s?\p{L}+"), Isolate(r"\s?\p{P}+"), DEEPSEEK_CJK, DIGIT]),
    plain(&["poro-chat", "bloom", "gpt3-finnish"], &[NO_SENTENCE_MARKS]),
    plain(&["viking"], &[NO_SENTENCE_MARKS, DIGIT]),
    plain(
        &["chameleon"],
        &[
            Isolate("<sentinel:[0-9]+>"),
            Isolate("IMGIMG[A-I]{1,4}Z"),
            Isolate(r"[\t\n]|    |  "),
            DIGIT,
            Isolate(r"[\p{P}!-/:-@\[-`{-~]"),
            GPT_2,
        ],
    )
    .add_bos(),
    plain(&["superbpe"], &[Isolate(r"\p{N}+"), BeforeThousands]),
];

impl PreTokenizer {
    /// The pre-tokenizer with this name.
    pub(in crate::tokenizer) fn named(name: &str) -> Option<&'static Self> {
        PRE_TOKENIZERS.iter().find(|p| p.names.contains(&name))
    }

    /// Every name.
    pub(in crate::tokenizer) fn names() -> impl Iterator<Item = &'static str> {
        PRE_TOKENIZERS.iter().flat_map(|p| p.names).copied()
    }
}
