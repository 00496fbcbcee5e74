//! Where in running text a character stands.

/// What is before a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A call, and nothing but whitespace since.
    AfterCall,
    /// Nothing but whitespace on its line.
    LineStart,
    /// Something else.
    Within,
    /// The beginning of a code block.
    Code,
}

/// Follows running text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    follows_call: bool,
    /// Only whitespace came since the line began.
    is_blank: bool,
    /// Backticks with which the line begins, until something else comes.
    backticks: Option<u8>,
    in_code: bool,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { follows_call: false, is_blank: true, backticks: Some(0), in_code: false }
    }

    pub(crate) fn place(self) -> Place {
        match self {
            Self { follows_call: true, .. } => Place::AfterCall,
            Self { in_code: true, .. } => Place::Code,
            Self { is_blank: true, .. } => Place::LineStart,
            _ => Place::Within,
        }
    }

    pub(crate) fn push(&mut self, c: char) {
        if c == '\n' {
            (self.is_blank, self.backticks) = (true, Some(0));
            return;
        }
        if c.is_ascii_whitespace() {
            self.backticks = self.backticks.filter(|n| *n == 0);
            return;
        }
        self.backticks = self.backticks.filter(|_| c == '`').map(|n| n + 1);
        if self.backticks == Some(3) {
            self.in_code = !self.in_code;
            self.backticks = None;
        }
        (self.is_blank, self.follows_call) = (false, false);
    }

    /// A call ended here.
    pub(crate) fn call(&mut self) {
        (self.follows_call, self.is_blank, self.backticks) = (true, false, None);
    }

    /// Its closing tag came.
    pub(crate) fn closed(&mut self) {
        self.follows_call = false;
    }
}
