//! Content and reasoning on their way out.

use super::super::Delta;

/// Deltas of one piece of output. Neighbours of one kind become one.
pub(crate) struct Out<'a> {
    deltas: &'a mut Vec<Delta>,
    /// Where this piece begins: what came before may have been sent.
    from: usize,
}

impl<'a> Out<'a> {
    pub(crate) fn new(deltas: &'a mut Vec<Delta>) -> Self {
        let from = deltas.len();
        Self { deltas, from }
    }

    fn last(&mut self) -> Option<&mut Delta> {
        self.deltas[self.from..].last_mut()
    }

    pub(crate) fn content(&mut self, more: &str) {
        match self.last() {
            _ if more.is_empty() => {}
            Some(Delta::Content(text)) => text.push_str(more),
            _ => self.deltas.push(Delta::Content(more.to_owned())),
        }
    }

    pub(crate) fn reasoning(&mut self, more: &str) {
        match self.last() {
            _ if more.is_empty() => {}
            Some(Delta::Reasoning(text)) => text.push_str(more),
            _ => self.deltas.push(Delta::Reasoning(more.to_owned())),
        }
    }

    pub(crate) fn arguments(&mut self, call: usize, more: &str) {
        match self.last() {
            _ if more.is_empty() => {}
            Some(Delta::CallArguments { index, text }) if *index == call => text.push_str(more),
            _ => self.deltas.push(Delta::CallArguments { index: call, text: more.to_owned() }),
        }
    }

    pub(crate) fn begin(&mut self, index: usize, name: &str) {
        self.deltas.push(Delta::CallBegin { index, name: name.to_owned() });
    }

    pub(crate) fn end(&mut self, index: usize) {
        self.deltas.push(Delta::CallEnd { index });
    }
}

/// Where running text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Content,
    Reasoning,
}

/// Running text between marks. Whitespace waits for what follows it: at the beginning and at the end, next to a mark, it is layout
/// and left out.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    kind: Kind,
    /// Nothing that is told later makes whitespace layout: no mark can follow.
    is_last: bool,
    /// Whitespace that waits.
    space: String,
    /// Something was told.
    is_told: bool,
    /// A mark came since.
    is_marked: bool,
}

impl Text {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, is_last: false, space: String::new(), is_told: false, is_marked: false }
    }

    /// Text that no mark follows once it has begun.
    pub(crate) fn last(kind: Kind) -> Self {
        Self { is_last: true, ..Self::new(kind) }
    }

    pub(crate) fn is_told(&self) -> bool {
        self.is_told
    }

    pub(crate) fn push(&mut self, c: char, out: &mut Out<'_>) {
        self.push_str(c.encode_utf8(&mut [0; 4]), out);
    }

    pub(crate) fn push_str(&mut self, text: &str, out: &mut Out<'_>) {
        let is_space = |c: char| c.is_ascii_whitespace();
        let end = if self.is_last && self.is_told { text.len() } else { text.trim_end_matches(is_space).len() };
        let (mut solid, space) = text.split_at(end);
        if !solid.is_empty() {
            if self.is_marked && !self.is_told {
                self.space.clear();
                solid = solid.trim_start_matches(is_space);
            }
            let before = std::mem::take(&mut self.space);
            self.tell(&before, out);
            self.tell(solid, out);
            self.is_told = true;
            self.is_marked = false;
        }
        self.space.push_str(space);
    }

    /// A mark stands here.
    pub(crate) fn mark(&mut self) {
        self.is_marked = true;
    }

    /// What comes next is a paragraph of its own.
    pub(crate) fn part(&mut self) {
        self.is_marked = true;
        if self.is_told {
            self.space.clear();
            self.space.push_str("\n\n");
        }
    }

    /// Nothing follows.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        let space = std::mem::take(&mut self.space);
        if !self.is_marked {
            self.tell(&space, out);
        }
    }

    fn tell(&self, text: &str, out: &mut Out<'_>) {
        match self.kind {
            Kind::Content => out.content(text),
            Kind::Reasoning => out.reasoning(text),
        }
    }
}
