//! Tokens of a template, cut as Jinja2 cuts them with `trim_blocks` and `lstrip_blocks`.

use super::SyntaxError;
use crate::chat::python::text::is_space;

/// One token, and the line that it begins in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Text of the prompt, with the whitespace that is left of it.
    Data(String),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(String),
    Text(String),
    Integer(u128),
    Float(f64),
    Operator(&'static str),
}

/// Longer ones first.
const OPERATORS: [&str; 26] = [
    "==", "!=", ">=", "<=", "**", "//", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|",
    ",", ";",
];

/// The tokens of a template.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer { rest: source, line: 1, line_starting: true, out: Vec::new() };
    lexer.run()?;
    Ok(lexer.out)
}

type IsDigit = fn(&u8) -> bool;

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    /// Whether what was read last ends a line, so that blanks before a tag are an indentation.
    line_starting: bool,
    out: Vec<Token>,
}

#[derive(Clone, Copy, PartialEq)]
enum Opening {
    Variable,
    Block,
    Comment,
    Raw,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), SyntaxError> {
        while let Some((at, opening)) = self.next_opening() {
            let sign = self.rest[at + 2..].chars().next().filter(|c| matches!(c, '-' | '+'));
            let text = self.take(at);
            self.data(text, sign, opening != Opening::Variable);
            self.take(2 + sign.map_or(0, char::len_utf8));
            self.line_starting = false;
            match opening {
                Opening::Variable => self.tag("}}")?,
                Opening::Block => self.tag("%}")?,
                Opening::Comment => self.comment()?,
                Opening::Raw => self.raw()?,
            }
        }
        let text = self.take(self.rest.len());
        self.push_data(text);
        Ok(())
    }

    /// The next `{{`, `{%` or `{#`, and what begins there.
    fn next_opening(&self) -> Option<(usize, Opening)> {
        let bytes = self.rest.as_bytes();
        let at = bytes.windows(2).position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))?;
        let opening = match bytes[at + 1] {
            b'{' => Opening::Variable,
            b'#' => Opening::Comment,
            _ if raw_tag(&self.rest[at + 2..], "raw").is_some() => Opening::Raw,
            _ => Opening::Block,
        };
        Some((at, opening))
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.line += text.matches('\n').count();
        text
    }

    /// Text before a tag: `-` strips it, and an indentation of a block goes without being asked.
    fn data(&mut self, text: &str, sign: Option<char>, is_block: bool) {
        let kept = match sign {
            Some('-') => text.trim_end_matches(is_space),
            None if is_block => {
                let begin = text.rfind('\n').map_or(0, |at| at + 1);
                let indents = (begin > 0 || self.line_starting) && text[begin..].chars().all(is_space);
                if indents { &text[..begin] } else { text }
            }
            _ => text,
        };
        self.push_data(kept);
    }

    fn push_data(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(Token { kind: Kind::Data(text.to_owned()), line: self.line });
        }
    }

    fn skip_spaces(&mut self) {
        let length = self.rest.len() - self.rest.trim_start_matches(is_space).len();
        let text = self.take(length);
        self.line_starting = text.ends_with('\n');
    }

    /// What stands behind the end of a tag: `-` strips it, and a block takes one line end without being asked.
    fn after(&mut self, sign: Option<char>, is_block: bool) {
        self.line_starting = false;
        match sign {
            Some('-') => self.skip_spaces(),
            None if is_block && self.rest.starts_with('\n') => {
                self.take(1);
                self.line_starting = true;
            }
            _ => {}
        }
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        let end = self.rest.find("#}").ok_or_else(|| self.error("the comment does not end"))?;
        let sign = self.rest[..end].chars().next_back().filter(|c| matches!(c, '-' | '+'));
        self.take(end + 2);
        self.after(sign, true);
        Ok(())
    }

    fn raw(&mut self) -> Result<(), SyntaxError> {
        let (length, sign) = raw_tag(self.rest, "raw").ok_or_else(|| self.error("the tag `raw` does not end"))?;
        self.take(length);
        self.after(sign, false);
        let mut from = 0;
        let (at, opening, length, sign) = loop {
            let at = self.rest[from..].find("{%").map(|at| from + at).ok_or_else(|| self.error("`raw` is not closed"))?;
            let behind = &self.rest[at + 2..];
            let opening = behind.chars().next().filter(|c| matches!(c, '-' | '+'));
            let inside = &behind[opening.map_or(0, char::len_utf8)..];
            if let Some((length, sign)) = raw_tag(inside, "endraw") {
                break (at, opening, length + behind.len() - inside.len() + 2, sign);
            }
            from = at + 2;
        };
        let text = self.take(at);
        self.data(text, opening, true);
        self.take(length);
        self.after(sign, true);
        Ok(())
    }

    /// The inside of a tag and its end, which is none within brackets.
    fn tag(&mut self, end: &'static str) -> Result<(), SyntaxError> {
        let is_block = end == "%}";
        self.push(if is_block { Kind::BlockBegin } else { Kind::VariableBegin });
        let mut brackets = Vec::new();
        loop {
            let Some(first) = self.rest.chars().next() else {
                return Err(self.error(&format!("the tag does not end with `{end}`")));
            };
            if brackets.is_empty() {
                let sign = Some(first).filter(|c| *c == '-' || (is_block && *c == '+'));
                let length = sign.map_or(0, char::len_utf8);
                if self.rest[length..].starts_with(end) {
                    self.push(if is_block { Kind::BlockEnd } else { Kind::VariableEnd });
                    self.take(length + 2);
                    self.after(sign, is_block);
                    return Ok(());
                }
            }
            if is_space(first) {
                self.take(first.len_utf8());
            } else if first.is_ascii_digit() {
                self.number()?;
            } else if first.is_alphanumeric() || first == '_' {
                let length = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
                let name = self.rest[..length].to_owned();
                self.push(Kind::Name(name));
                self.take(length);
            } else if first == '"' || first == '\'' {
                self.string(first)?;
            } else {
                let operator = OPERATORS.into_iter().find(|operator| self.rest.starts_with(operator));
                let operator = operator.ok_or_else(|| self.error(&format!("unexpected character `{first}`")))?;
                match operator {
                    "(" => brackets.push(")"),
                    "[" => brackets.push("]"),
                    "{" => brackets.push("}"),
                    ")" | "]" | "}" if brackets.pop() != Some(operator) => {
                        return Err(self.error(&format!("unexpected `{operator}`")));
                    }
                    _ => {}
                }
                self.push(Kind::Operator(operator));
                self.take(operator.len());
            }
        }
    }

    fn push(&mut self, kind: Kind) {
        self.out.push(Token { kind, line: self.line });
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize, is_digit: IsDigit| {
            let mut at = from;
            while bytes.get(at).is_some_and(is_digit)
                || (at > from && bytes.get(at) == Some(&b'_') && bytes.get(at + 1).is_some_and(is_digit))
            {
                at += 1;
            }
            at
        };
        let radix: Option<(u32, IsDigit)> = match bytes.get(1).map(u8::to_ascii_lowercase) {
            Some(b'x') => Some((16, u8::is_ascii_hexdigit)),
            Some(b'o') => Some((8, |b| matches!(b, b'0'..=b'7'))),
            Some(b'b') => Some((2, |b| matches!(b, b'0' | b'1'))),
            _ => None,
        };
        let behind_dot = self.out.last().is_some_and(|token| token.kind == Kind::Operator("."));
        let (length, kind) = match radix.filter(|_| bytes[0] == b'0') {
            Some((radix, is_digit)) if digits(2, is_digit) > 2 => {
                let end = digits(2, is_digit);
                (end, u128::from_str_radix(&self.rest[2..end].replace('_', ""), radix).ok().map(Kind::Integer))
            }
            _ => {
                let whole = digits(0, u8::is_ascii_digit);
                let mut end = whole;
                if !behind_dot && bytes.get(end) == Some(&b'.') && digits(end + 1, u8::is_ascii_digit) > end + 1 {
                    end = digits(end + 1, u8::is_ascii_digit);
                }
                if !behind_dot && bytes.get(end).is_some_and(|b| matches!(b, b'e' | b'E')) {
                    let sign = usize::from(bytes.get(end + 1).is_some_and(|b| matches!(b, b'+' | b'-')));
                    let exponent = digits(end + 1 + sign, u8::is_ascii_digit);
                    end = if exponent > end + 1 + sign { exponent } else { end };
                }
                let text = self.rest[..end].replace('_', "");
                let kind = if end > whole { text.parse().ok().map(Kind::Float) } else { text.parse().ok().map(Kind::Integer) };
                (end, kind)
            }
        };
        let kind = kind.ok_or_else(|| self.error("a number is too large"))?;
        self.push(kind);
        self.take(length);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<(), SyntaxError> {
        let mut escaped = false;
        let end = self.rest[1..].char_indices().find(|&(_, c)| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (end, _) = end.ok_or_else(|| self.error("a text in quotes does not end"))?;
        let text = unescape(&self.rest[1..end + 1]).map_err(|message| self.error(&message))?;
        self.push(Kind::Text(text));
        self.take(end + 2);
        Ok(())
    }

    fn error(&self, message: &str) -> SyntaxError {
        SyntaxError { message: message.to_owned(), line: self.line }
    }
}

/// `raw -%}`: how long it is, and its sign.
fn raw_tag(text: &str, name: &str) -> Option<(usize, Option<char>)> {
    let inside = text.strip_prefix(['-', '+']).filter(|_| name == "raw").unwrap_or(text);
    let behind = inside.trim_start_matches(is_space).strip_prefix(name)?.trim_start_matches(is_space);
    let sign = behind.chars().next().filter(|c| *c == '-' || (*c == '+' && name == "endraw"));
    let rest = behind[sign.map_or(0, char::len_utf8)..].strip_prefix("%}")?;
    Some((text.len() - rest.len(), sign))
}

/// Python's escapes.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { return Err("a text ends with a backslash".to_owned()) };
        match escape {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escape),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            '0'..='7' => {
                let mut code = escape.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    chars.next();
                }
                out.push(char::from_u32(code).unwrap_or_default());
            }
            'x' | 'u' | 'U' => {
                let length = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let code = hex(&mut chars, length).ok_or_else(|| format!("`\\{escape}` needs {length} digits"))?;
                out.push(char::from_u32(code).ok_or_else(|| format!("`\\{escape}{code:x}` is no character"))?);
            }
            other => out.extend(['\\', other]),
        }
    }
    Ok(out)
}

fn hex(chars: &mut std::str::Chars, length: usize) -> Option<u32> {
    let digits = chars.as_str().get(..length).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    *chars = chars.as_str()[length..].chars();
    u32::from_str_radix(digits, 16).ok()
}
