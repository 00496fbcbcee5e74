//! Arrays and constants of C++ text, found by their tokens.

use std::ops::Range;

/// What a text declares.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Code<'t> {
    pub arrays: Vec<Array<'t>>,
    pub constants: Vec<Constant<'t>>,
}

/// An array, with the size of each dimension that has one.
#[derive(Debug, PartialEq, Eq)]
pub struct Array<'t> {
    pub name: &'t str,
    pub sizes: Vec<Size<'t>>,
}

/// A size.
#[derive(Debug, PartialEq, Eq)]
pub struct Size<'t> {
    pub range: Range<usize>,
    /// What it depends on.
    pub names: Vec<&'t str>,
    /// Its value, where it is a number and nothing else.
    pub value: Option<u64>,
}

/// A name that is given to a value.
#[derive(Debug, PartialEq, Eq)]
pub struct Constant<'t> {
    pub name: &'t str,
    /// Of the value.
    pub range: Range<usize>,
    /// What it depends on.
    pub names: Vec<&'t str>,
    /// The value, where it is a number and nothing else.
    pub value: Option<u64>,
}

/// A piece of C++ text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'t> {
    Name(&'t str),
    Number(&'t str),
    Sign(u8),
    /// The end of a preprocessor line.
    End,
}

/// A token and its bytes.
pub type At<'t> = (Token<'t>, Range<usize>);

/// Names that say nothing about a size.
pub const TYPES: [&str; 24] = [
    "alignof",
    "auto",
    "bool",
    "char",
    "const",
    "constexpr",
    "double",
    "float",
    "half",
    "int",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "long",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static_cast",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "unsigned",
];

/// Names after which an expression stands, and no declarator.
const STATEMENTS: [&str; 10] = ["return", "else", "case", "goto", "throw", "delete", "do", "co_return", "co_yield", "in"];

/// Finds arrays and constants. Any text is fine; what is no C++ has neither.
pub fn code(text: &str) -> Code<'_> {
    let tokens = tokens(text);
    let mut code = Code::default();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(constant) = constant(&tokens, at) {
            code.constants.push(constant);
        }
        // Several declarators share one type, and a later one is known by the first.
        match array(&tokens, at) {
            Some((array, mut end)) => {
                code.arrays.push(array);
                while let Some((array, next)) = further(&tokens, end) {
                    code.arrays.push(array);
                    end = next;
                }
                at = end;
            }
            None => at += 1,
        }
    }
    code.arrays.retain(|array| !array.sizes.is_empty());
    code
}

fn name<'t>(tokens: &[At<'t>], at: usize) -> Option<&'t str> {
    match tokens.get(at)?.0 {
        Token::Name(name) => Some(name),
        _ => None,
    }
}

fn is(tokens: &[At<'_>], at: usize, sign: u8) -> bool {
    matches!(tokens.get(at), Some((Token::Sign(found), _)) if *found == sign)
}

/// A declarator of an array whose name stands at `at`, and where it ends: `float acc[8]`, `Tile<bf16> acc[8]` and `float *acc[8]` at
/// the beginning of a statement, `float (&acc)[8]`, and a type itself, as in `using Row = float[8]`.
fn array<'t>(tokens: &[At<'t>], at: usize) -> Option<(Array<'t>, usize)> {
    let name = self::name(tokens, at)?;
    if STATEMENTS.contains(&name) {
        return None;
    }
    let before = at.checked_sub(1)?;
    let in_parentheses = (is(tokens, before, b'&') || is(tokens, before, b'*'))
        && before > 0
        && is(tokens, before - 1, b'(')
        && is(tokens, at + 1, b')')
        && is(tokens, at + 2, b'[');
    let brackets = if in_parentheses { at + 2 } else { at + 1 };
    if !is(tokens, brackets, b'[') {
        return None;
    }
    let after_type = match tokens[before].0 {
        Token::Name(word) => !STATEMENTS.contains(&word),
        Token::Sign(b'>' | b'*' | b'&') => begins_a_declaration(tokens, before),
        _ => false,
    };
    if !(in_parentheses || after_type || TYPES.contains(&name)) {
        return None;
    }
    let (sizes, end) = sizes(tokens, brackets);
    Some((Array { name, sizes }, end))
}

/// Whether what stands from the beginning of a statement up to `last` is a type: names, with what may stand between them.
fn begins_a_declaration(tokens: &[At<'_>], last: usize) -> bool {
    let type_tokens = &tokens[statement(tokens, last)..=last];
    let allowed = |token: &Token<'_>| {
        matches!(token, Token::Name(_) | Token::Number(_) | Token::Sign(b'<' | b'>' | b',' | b':' | b'*' | b'&' | b'(' | b')'))
    };
    let count = |sign: u8| type_tokens.iter().filter(|(token, _)| *token == Token::Sign(sign)).count();
    matches!(type_tokens.first(), Some((Token::Name(word), _)) if !STATEMENTS.contains(word))
        && type_tokens.iter().all(|(token, _)| allowed(token))
        && count(b'(') == count(b')')
        && count(b'<') == count(b'>')
}

/// A further declarator after a comma: `float a[N], b[M];`
fn further<'t>(tokens: &[At<'t>], comma: usize) -> Option<(Array<'t>, usize)> {
    let name = self::name(tokens, comma + 1).filter(|_| is(tokens, comma, b',') && is(tokens, comma + 2, b'['))?;
    let (sizes, end) = sizes(tokens, comma + 2);
    Some((Array { name, sizes }, end))
}

/// The sizes in brackets from `at` on, and where they end.
fn sizes<'t>(tokens: &[At<'t>], mut at: usize) -> (Vec<Size<'t>>, usize) {
    let mut sizes = Vec::new();
    while is(tokens, at, b'[') {
        let mut depth = 0usize;
        let close = (at..tokens.len()).find(|&i| {
            depth = if is(tokens, i, b'[') { depth + 1 } else { depth - usize::from(is(tokens, i, b']')) };
            depth == 0
        });
        let Some(close) = close else { break };
        let inside = &tokens[at + 1..close];
        if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
            let (names, value) = value(inside);
            sizes.push(Size { range: first.1.start..last.1.end, names, value });
        }
        at = close + 1;
    }
    (sizes, at)
}

/// `constexpr int N = 8;`, `enum { N = 8 }` and `#define N 8`, whose name stands at `at`.
fn constant<'t>(tokens: &[At<'t>], at: usize) -> Option<Constant<'t>> {
    let name = self::name(tokens, at)?;
    let before = at.checked_sub(1)?;
    let is_define = self::name(tokens, before) == Some("define") && before > 0 && is(tokens, before - 1, b'#');
    let is_given = is(tokens, at + 1, b'=') && !is(tokens, at + 2, b'=');
    if !(is_define || is_given && is_fixed(tokens, before)) {
        return None;
    }
    let first = if is_define { at + 1 } else { at + 2 };
    let is_end = |token: &Token<'_>| match token {
        Token::End => true,
        Token::Sign(sign) => !is_define && matches!(sign, b';' | b',' | b'}'),
        _ => false,
    };
    let end = (first..tokens.len()).find(|&i| is_end(&tokens[i].0)).unwrap_or(tokens.len());
    let inside = &tokens[first..end];
    // What is computed by a call is no number of this text.
    let is_a_number = inside.iter().any(|(token, _)| matches!(token, Token::Number(_)));
    let (names, value) = value(inside);
    let range = inside.first()?.1.start..inside.last()?.1.end;
    (is_a_number || !names.is_empty()).then_some(Constant { name, range, names, value })
}

/// Whether the statement up to `last` declares something that does not change: a default of a template's parameter is none.
fn is_fixed(tokens: &[At<'_>], last: usize) -> bool {
    let first = statement(tokens, last);
    let word = |at: usize| self::name(tokens, at);
    let in_enum = first > 0 && is(tokens, first - 1, b'{') && (first.saturating_sub(6)..first).any(|at| word(at) == Some("enum"));
    let is_const = (first..=last).any(|at| matches!(word(at), Some("const" | "constexpr")));
    in_enum || (is_const && word(first) != Some("template"))
}

/// Where the statement begins that `last` belongs to.
fn statement(tokens: &[At<'_>], last: usize) -> usize {
    let is_boundary = |token: &Token<'_>| matches!(token, Token::Sign(b';' | b'{' | b'}') | Token::End);
    tokens[..=last].iter().rposition(|(token, _)| is_boundary(token)).map_or(0, |at| at + 1)
}

fn value<'t>(tokens: &[At<'t>]) -> (Vec<&'t str>, Option<u64>) {
    let names = tokens.iter().filter_map(|(token, _)| match token {
        Token::Name(name) if !TYPES.contains(name) => Some(*name),
        _ => None,
    });
    let value = match tokens {
        [(Token::Number(digits), _)] => digits.trim_end_matches(['u', 'U', 'l', 'L']).replace('\'', "").parse().ok(),
        _ => None,
    };
    (names.collect(), value)
}

/// The tokens of a text, without comments and texts in quotes.
pub fn tokens(text: &str) -> Vec<At<'_>> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<At<'_>> = Vec::new();
    let (mut at, mut in_directive) = (0, false);
    let until =
        |from: usize, end: &str| text.get(from..).and_then(|rest| rest.find(end)).map_or(bytes.len(), |i| from + i + end.len());
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let word = |from: usize| {
            let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || (*b == b'\'' && bytes[from].is_ascii_digit());
            from + bytes[from..].iter().take_while(|b| is_part(b)).count()
        };
        at = match byte {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i)
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => until(at + 2, "*/"),
            b'R' if bytes.get(at + 1) == Some(&b'"') => {
                let delimiter: String = text[at + 2..].chars().take_while(|c| *c != '(').collect();
                until(at + 2, &format!("){delimiter}\""))
            }
            b'"' | b'\'' => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != byte && bytes[end] != b'\n' {
                    end += 1 + usize::from(bytes[end] == b'\\');
                }
                (end + 1).min(bytes.len())
            }
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at + 2,
            b'\n' => {
                if in_directive {
                    tokens.push((Token::End, at..at + 1));
                }
                in_directive = false;
                at + 1
            }
            _ if byte.is_ascii_whitespace() => at + 1,
            _ if byte.is_ascii_digit() => {
                let end = word(at);
                tokens.push((Token::Number(&text[at..end]), at..end));
                end
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' => {
                let end = word(at);
                tokens.push((Token::Name(&text[at..end]), at..end));
                end
            }
            _ if byte.is_ascii() => {
                in_directive |= byte == b'#';
                tokens.push((Token::Sign(byte), at..at + 1));
                at + 1
            }
            _ => at + 1,
        };
        debug_assert!(at > start, "the scanner goes on");
    }
    if in_directive {
        tokens.push((Token::End, bytes.len()..bytes.len()));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name[size][size]` of every array, with sizes that are a mere number in parentheses.
    fn arrays(text: &str) -> Vec<String> {
        let shown = |array: &Array<'_>| {
            let sizes = array.sizes.iter().map(|size| {
                let text = &text[size.range.clone()];
                if size.names.is_empty() { format!("({text})") } else { format!("[{text}]") }
            });
            format!("{}{}", array.name, sizes.collect::<String>())
        };
        code(text).arrays.iter().map(shown).collect()
    }

    #[test]
    fn declarators_are_told_from_indices() {
        for (text, expected) in [
            ("float acc[512];", "acc(512)"),
            ("__shared__ float tile[2][HEAD_DIM];", "tile(2)[HEAD_DIM]"),
            ("float a[N], b[8];", "a[N] b(8)"),
            ("x = 1; Tile<bf16, 16> t[8];", "t(8)"),
            ("{ float* p[8]; }", "p(8)"),
            ("void f(float (&acc)[8], const float row[4]);", "acc(8) row(4)"),
            ("using Row = float[8];", "float(8)"),
            ("extern __shared__ unsigned char shared[];", ""),
            ("char raw[sizeof(float) * 8];", "raw(sizeof(float) * 8)"),
            ("float acc[TILE / 32];", "acc[TILE / 32]"),
            ("acc[0] = b[1] * c[2]; return acc[3]; f(x, acc[4]); if (a > acc[5]) {}", ""),
            ("y = a * acc[3]; y = a & acc[3]; y = g(a) > acc[3];", ""),
            ("// float acc[8];\n/* float acc[8]; */ \"float acc[8];\" R\"x(float acc[8];)x\"", ""),
            ("else acc[0] = 1;", ""),
            ("float e[MAP[3]];", "e[MAP[3]]"),
            ("float acc[{{ head_dim }}];", "acc[{{ head_dim }}]"),
            ("float acc[1'024u];", "acc(1'024u)"),
            ("#define ROW 8\nfloat acc[8];", "acc(8)"),
            ("float open[8", ""),
        ] {
            assert_eq!(arrays(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn constants_are_seen() {
        let all = |text: &str| {
            let code = code(text);
            code.constants.iter().map(|c| format!("{} {:?} {:?}", c.name, c.names, c.value)).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(all("constexpr int N = 512; static const unsigned M = 2 * N;"), "N [] Some(512); M [\"N\"] None");
        assert_eq!(all("#define N 512\n#define TWICE (2 * N)"), "N [] Some(512); TWICE [\"N\"] None");
        assert_eq!(all("enum { N = 8, M = 16 };"), "N [] Some(8); M [] Some(16)");
        assert_eq!(all("constexpr int HEAD_DIM = {{ head_dim }};"), "HEAD_DIM [\"head_dim\"] None");
        assert_eq!(all("if (a == 3) {} x[0] = 4; template <int N = 8, int M = 2> void f();"), "");
    }

    #[test]
    fn any_text_is_fine() {
        for text in
            ["", "R\"", "R\"(", "\"", "'", "\\", "/*", "//", "#", "float \u{e9}[8];", "a[", "]][[", "\"\\", "R\"\u{e9}(", "/"]
        {
            code(text);
        }
    }
}
