//! The tokens of a template, taken one after the other, and what is no expression among them.

use super::SyntaxError;
use super::lexer::{Kind, Token};

/// Reads the tokens of a template.
pub(super) struct Parser<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    pub(super) depth: usize,
}

pub(super) type Parsed = Result<String, SyntaxError>;

impl<'t> Parser<'t> {
    pub(super) fn new(tokens: &'t [Token]) -> Self {
        Self { tokens, at: 0, depth: 0 }
    }

    /// The next token, which is left behind.
    pub(super) fn next(&mut self) -> Option<&'t Token> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    pub(super) fn kind(&self) -> Option<&'t Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.kind(), Some(Kind::Operator(o)) if *o == operator)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.kind(), Some(Kind::Name(n)) if n == name)
    }

    pub(super) fn skip_operator(&mut self, operator: &str) -> bool {
        let skips = self.is_operator(operator);
        self.at += usize::from(skips);
        skips
    }

    pub(super) fn skip_keyword(&mut self, name: &str) -> bool {
        let skips = self.is_name(name);
        self.at += usize::from(skips);
        skips
    }

    pub(super) fn skip_name(&mut self) {
        self.at += usize::from(matches!(self.kind(), Some(Kind::Name(_))));
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.kind(), None | Some(Kind::VariableEnd | Kind::BlockEnd)) || self.is_operator(":")
    }

    /// Everything up to the end of the tag.
    pub(super) fn skip_tag(&mut self) {
        while !matches!(self.kind(), None | Some(Kind::BlockEnd)) {
            self.at += 1;
        }
    }

    /// Whether the loop whose tag is being read has an `else`, and `break` or `continue` in its body.
    pub(super) fn is_left_early(&self) -> bool {
        let names = self.tokens[self.at..].windows(2).filter_map(|pair| match (&pair[0].kind, &pair[1].kind) {
            (Kind::BlockBegin, Kind::Name(name)) => Some(name.as_str()),
            _ => None,
        });
        // Whether each is a loop.
        let mut open = vec![true];
        let (mut leaves, mut has_else) = (false, false);
        for name in names {
            match name {
                "for" | "if" => open.push(name == "for"),
                "endfor" | "endif" => drop(open.pop()),
                "else" => has_else |= open.len() == 1,
                "break" | "continue" => leaves |= !has_else && open[1..].iter().all(|is_loop| !is_loop),
                _ => {}
            }
            if open.is_empty() {
                break;
            }
        }
        leaves && has_else
    }

    pub(super) fn expect_end(&mut self, end: &Kind) -> Result<(), SyntaxError> {
        if self.kind() != Some(end) {
            return Err(self.unexpected("the end of the tag"));
        }
        self.at += 1;
        Ok(())
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> Result<(), SyntaxError> {
        if self.skip_operator(operator) { Ok(()) } else { Err(self.unexpected(&format!("`{operator}`"))) }
    }

    pub(super) fn expect_keyword(&mut self, name: &str) -> Result<(), SyntaxError> {
        if self.skip_keyword(name) { Ok(()) } else { Err(self.unexpected(&format!("`{name}`"))) }
    }

    pub(super) fn expect_name(&mut self) -> Parsed {
        match self.kind() {
            Some(Kind::Name(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> SyntaxError {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line);
        let found = match self.kind() {
            None => "the end of the template".to_owned(),
            Some(Kind::VariableEnd | Kind::BlockEnd) => "the end of the tag".to_owned(),
            Some(Kind::Name(name)) => format!("`{name}`"),
            Some(Kind::Operator(operator)) => format!("`{operator}`"),
            Some(Kind::Text(text)) => format!("the text {text:?}"),
            Some(Kind::Integer(_) | Kind::Float(_)) => "a number".to_owned(),
            Some(Kind::Data(_) | Kind::VariableBegin | Kind::BlockBegin) => "text".to_owned(),
        };
        SyntaxError { message: format!("expected {expected}, found {found}"), line }
    }

    /// What is assigned to: names, tuples of them, and with `dotted` attributes of a namespace.
    pub(super) fn target(&mut self, ends: &[&str], dotted: bool) -> Parsed {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.skip_operator("(") {
                let inner = self.target(&[], dotted)?;
                self.expect_operator(")")?;
                items.push(format!("({inner})"));
            } else {
                let mut name = self.expect_name()?;
                if dotted && self.skip_operator(".") {
                    name = format!("{name}.{}", self.expect_name()?);
                }
                items.push(name);
            }
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
            if self.at_end() || self.is_operator(")") || self.is_operator("=") || ends.iter().any(|end| self.is_name(end)) {
                break;
            }
        }
        let comma = if is_tuple && items.len() == 1 { "," } else { "" };
        Ok(format!("{}{comma}", items.join(", ")))
    }

    /// The parameters of a macro.
    pub(super) fn signature(&mut self) -> Parsed {
        self.expect_operator("(")?;
        let parameters = self.items(")", |parser| {
            let name = parser.expect_name()?;
            if parser.skip_operator("=") { Ok(format!("{name}={}", parser.expression()?)) } else { Ok(name) }
        })?;
        Ok(format!("({parameters})"))
    }
}
