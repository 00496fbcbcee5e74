//! Content with calls in it: finds where calls begin, has them read, and gives back as content what was none.

use std::fmt;

use super::OutputEnd;
use super::call::{Call, CallReader, Progress};
use super::json::Step;
use super::place::{Line, Place};
use super::tags::{Match, TagMatcher};
use super::text::{Kind, Out, Text};

/// Where calls stand in the text of one format.
pub(crate) trait Format: fmt::Debug + Send + Sync {
    /// The tags that open calls.
    fn openers(&self) -> &'static [&'static str];

    /// The tags that may follow a call and are left out with it. Behind the last of them none is.
    fn closers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The reader of what stands behind a tag that opens.
    fn opened(&self, tag: &str) -> Box<dyn CallReader>;

    /// The reader of a call that has no tag: from behind a `{`, where it may begin one.
    fn brace(&self, _place: Place) -> Option<Box<dyn CallReader>> {
        None
    }

    /// The reader of JSON text that cannot be a call but may hold what looks like one, from behind a `[`.
    fn bracket(&self, _place: Place) -> Option<Box<dyn CallReader>> {
        None
    }

    /// A character between two calls that belongs to neither.
    fn separator(&self) -> Option<char> {
        None
    }
}

/// The part of an answer that is no reasoning.
#[derive(Debug)]
pub(crate) struct Calls {
    format: Box<dyn Format>,
    text: Text,
    progress: Progress,
    reader: Option<Box<dyn CallReader>>,
    /// What the reader has read, with the tag that opened it.
    raw: String,
    /// The reader's text is content.
    is_text: bool,
    tags: TagMatcher,
    /// A closing tag belongs to a call.
    may_close: bool,
    line: Line,
    /// A separator behind a call with the whitespace behind it, until it is known what follows.
    separator: String,
}

impl Calls {
    /// A reader of calls; `opening` is the tag with which the prompt has begun one.
    pub(crate) fn new(format: Box<dyn Format>, progress: Progress, opening: Option<&str>) -> Self {
        let reader = opening.map(|tag| format.opened(tag));
        Self {
            format,
            text: Text::new(Kind::Content),
            progress,
            reader,
            raw: String::new(),
            is_text: false,
            tags: TagMatcher::default(),
            may_close: false,
            line: Line::new(),
            separator: String::new(),
        }
    }

    pub(crate) fn complete(&self) -> usize {
        self.progress.complete
    }

    /// A mark stands here that belongs to no call.
    pub(crate) fn mark(&mut self) {
        self.text.mark();
    }

    /// What comes next is a paragraph of its own.
    pub(crate) fn part(&mut self) {
        self.text.part();
    }

    pub(crate) fn push(&mut self, c: char, out: &mut Out<'_>) {
        let Some(mut reader) = self.reader.take() else { return self.running(c, out) };
        let step = reader.push(c, &mut Call { progress: &mut self.progress, out, is_muted: self.is_text });
        if std::mem::take(&mut self.progress.is_rejected) {
            self.give_back(out);
            self.is_text = true;
        }
        if std::mem::take(&mut self.progress.is_layout) {
            self.raw.clear();
            self.text.mark();
            self.may_close = true;
            self.line.call();
        } else if matches!(step, Step::More | Step::Done) {
            if self.is_text { self.content(c, out) } else { self.raw.push(c) }
        }
        match step {
            Step::More => self.reader = Some(reader),
            Step::Done => self.left(out),
            Step::DoneBefore => {
                self.left(out);
                self.push(c, out);
            }
            Step::Bad(again) => {
                let again = self.raw.split_off(self.raw.len() - again.min(self.raw.len()));
                self.left(out);
                again.chars().for_each(|c| self.push(c, out));
                self.push(c, out);
            }
        }
    }

    /// The reader is done.
    fn left(&mut self, out: &mut Out<'_>) {
        self.give_back(out);
        self.is_text = false;
    }

    /// What was read is content.
    fn give_back(&mut self, out: &mut Out<'_>) {
        self.progress.abandon();
        if !self.raw.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            raw.chars().for_each(|c| self.content(c, out));
        }
    }

    /// A character of running text.
    fn running(&mut self, c: char, out: &mut Out<'_>) {
        let is_open = self.progress.is_open();
        if self.tags.is_empty() && is_open {
            let reader = match c {
                '{' => self.format.brace(self.line.place()),
                '[' => self.format.bracket(self.line.place()),
                _ => None,
            };
            if reader.is_some() {
                self.reader = reader;
                self.raw.push_str(&std::mem::take(&mut self.separator));
                return self.raw.push(c);
            }
        }
        let openers = if is_open { self.format.openers() } else { &[] };
        let closers = if self.may_close { self.format.closers() } else { &[] };
        if self.tags.is_plain(c, openers) && self.tags.is_plain(c, closers) {
            return self.plain(c, out);
        }
        let tags = [openers, closers].concat();
        let mut plain = String::new();
        let found = self.tags.push(c, &tags, |c| plain.push(c));
        plain.chars().for_each(|c| self.plain(c, out));
        let Match::Tag(tag) = found else { return };
        if self.format.closers().contains(&tag) {
            self.text.mark();
            self.may_close = self.format.closers().last() != Some(&tag);
            self.line.closed();
        } else {
            self.may_close = false;
            self.reader = Some(self.format.opened(tag));
            self.raw.push_str(&std::mem::take(&mut self.separator));
            self.raw.push_str(tag);
        }
    }

    /// A character that begins no tag.
    fn plain(&mut self, c: char, out: &mut Out<'_>) {
        let is_space = c.is_ascii_whitespace();
        if !self.separator.is_empty() {
            if is_space {
                return self.separator.push(c);
            }
            let separator = std::mem::take(&mut self.separator);
            separator.chars().for_each(|c| self.content(c, out));
        } else if self.line.place() == Place::AfterCall && self.format.separator() == Some(c) {
            return self.separator.push(c);
        }
        self.content(c, out);
    }

    fn content(&mut self, c: char, out: &mut Out<'_>) {
        self.line.push(c);
        self.text.push(c, out);
    }

    /// Nothing follows.
    pub(crate) fn finish(&mut self, ending: OutputEnd, out: &mut Out<'_>) {
        self.close(ending, out);
        self.text.finish(out);
    }

    /// What was held back is decided: no call goes on behind this.
    pub(crate) fn close(&mut self, ending: OutputEnd, out: &mut Out<'_>) {
        let held = self.tags.take();
        held.chars().for_each(|c| self.plain(c, out));
        if let Some(mut reader) = self.reader.take() {
            if ending == OutputEnd::Complete {
                reader.finish(&mut Call { progress: &mut self.progress, out, is_muted: self.is_text });
                self.progress.is_rejected = false;
                if std::mem::take(&mut self.progress.is_layout) {
                    self.raw.clear();
                    self.text.mark();
                }
            }
            if ending == OutputEnd::Cut && self.progress.is_told {
                // What there is of the call was told.
                self.raw.clear();
                self.text.mark();
            }
            self.left(out);
        }
    }
}
