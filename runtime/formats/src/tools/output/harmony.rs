//! Harmony: messages with a channel and perhaps a recipient, `<|channel|>analysis<|message|>..<|end|>`.
//!
//! The channel `analysis` is reasoning, a recipient `functions.f` makes a message a call, and everything else is content.

use super::arguments::Arguments;
use super::call::{Call, CallReader, Progress};
use super::json::Step;
use super::tags::{Match, TagMatcher};
use super::text::{Kind, Out, Text};
use super::{Answer, OutputEnd};

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const CONSTRAIN: &str = "<|constrain|>";
const MESSAGE: &str = "<|message|>";
/// What ends a message.
const ENDS: [&str; 3] = ["<|end|>", "<|call|>", "<|return|>"];
/// What ends a message, or begins the next one where a model forgot the end.
const BORDERS: [&str; 5] = ["<|end|>", "<|call|>", "<|return|>", START, CHANNEL];

/// Bytes that the header of a message may have.
const LONGEST_HEADER: usize = 1024;

/// Reads messages.
#[derive(Debug)]
pub(crate) struct Harmony {
    state: State,
    tags: TagMatcher,
    /// The header that is being read, or that of the call that is.
    header: String,
    /// The output's part of it, and of the call.
    raw: String,
    reasoning: Text,
    /// Where content goes.
    answer: Box<Answer>,
    /// `None` where no message is a call.
    progress: Option<Progress>,
    reasons: bool,
}

#[derive(Debug)]
enum State {
    /// Before the first message, in which the prompt may have begun a header.
    First,
    /// Behind a message.
    Outside,
    Header,
    Body(Body),
    Call(Arguments),
    /// Behind the arguments of a call.
    Called,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Reasoning,
    Content,
    /// For nobody here: content as it is written, with its marks.
    Foreign,
}

impl Harmony {
    /// Reads calls and reasoning where these are wanted; what is neither goes on to `answer`.
    pub(crate) fn new(progress: Option<Progress>, reasons: bool, answer: Answer) -> Self {
        let mut reasoning = Text::new(Kind::Reasoning);
        reasoning.mark();
        let (tags, header, raw) = (TagMatcher::default(), String::new(), String::new());
        let answer = Box::new(answer);
        Self { state: State::First, tags, header, raw, reasoning, answer, progress, reasons }
    }

    /// The prompt ends within a header, with this.
    pub(crate) fn header_begun(&mut self, header: &str) {
        self.state = State::Header;
        self.header.push_str(header);
    }

    /// The prompt ends within reasoning.
    pub(crate) fn reasoning_begun(&mut self) {
        self.state = State::Body(Body::Reasoning);
    }

    pub(crate) fn complete(&self) -> usize {
        self.progress.as_ref().map_or(0, |progress| progress.complete) + self.answer.complete()
    }

    pub(crate) fn mark(&mut self) {
        self.answer.mark();
    }

    pub(crate) fn push(&mut self, c: char, out: &mut Out<'_>) {
        let mut plain = String::new();
        match &mut self.state {
            State::First | State::Outside | State::Called => {
                // The recipient may stand before the channel.
                let first = [START, CHANNEL, MESSAGE, ENDS[0], ENDS[1], ENDS[2], "to="];
                let tags = if matches!(self.state, State::First) { &first[..] } else { &first[..6] };
                let found = self.tags.push(c, tags, |c| plain.push(c));
                plain.chars().for_each(|c| self.outside(c, out));
                if let Match::Tag(tag) = found {
                    self.border(tag, out);
                }
            }
            State::Header => {
                let tags = [MESSAGE, CONSTRAIN, CHANNEL, START, ENDS[0], ENDS[1], ENDS[2]];
                let found = self.tags.push(c, &tags, |c| plain.push(c));
                self.raw.push_str(&plain);
                self.header.push_str(&plain);
                match found {
                    Match::Tag(MESSAGE) => {
                        self.raw.push_str(MESSAGE);
                        self.message(out);
                    }
                    Match::Tag(tag @ (CHANNEL | CONSTRAIN)) => {
                        self.raw.push_str(tag);
                        self.header.push_str(tag);
                    }
                    Match::Tag(tag) => {
                        self.give_back(out);
                        self.state = State::Outside;
                        self.border(tag, out);
                    }
                    Match::Held if self.header.len() > LONGEST_HEADER => {
                        self.give_back(out);
                        self.state = State::Outside;
                    }
                    Match::Held => {}
                }
            }
            State::Body(body) => {
                let body = *body;
                let found = self.tags.push(c, &BORDERS, |c| plain.push(c));
                plain.chars().for_each(|c| self.body(body, c, out));
                if let Match::Tag(tag) = found {
                    if body == Body::Foreign && ENDS.contains(&tag) {
                        tag.chars().for_each(|c| self.body(body, c, out));
                    }
                    self.state = State::Called;
                    self.border(tag, out);
                }
            }
            State::Call(arguments) => {
                let Some(progress) = &mut self.progress else { return };
                let step = arguments.push(c, &mut Call { progress, out, is_muted: false });
                match step {
                    Step::More => self.raw.push(c),
                    Step::Done => {
                        progress.is_layout = false;
                        self.raw.clear();
                        self.answer.mark();
                        self.state = State::Called;
                    }
                    Step::DoneBefore | Step::Bad(_) => {
                        self.give_back(out);
                        self.state = State::Body(Body::Foreign);
                        self.push(c, out);
                    }
                }
            }
        }
    }

    /// A character outside of messages. At the very beginning, whitespace may be part of a header.
    fn outside(&mut self, c: char, out: &mut Out<'_>) {
        if !c.is_ascii_whitespace() {
            self.state = State::Outside;
        }
        self.answer.push(c, out);
    }

    fn body(&mut self, body: Body, c: char, out: &mut Out<'_>) {
        match body {
            Body::Reasoning if self.reasons => self.reasoning.push(c, out),
            _ => self.answer.push(c, out),
        }
    }

    /// A tag between messages.
    fn border(&mut self, tag: &'static str, out: &mut Out<'_>) {
        self.answer.close(out);
        match tag {
            _ if ENDS.contains(&tag) && !matches!(self.state, State::Called) => {
                tag.chars().for_each(|c| self.answer.push(c, out))
            }
            _ if ENDS.contains(&tag) => {
                self.answer.mark();
                self.reasoning.mark();
                self.state = State::Outside;
            }
            MESSAGE => {
                self.raw.push_str(tag);
                self.message(out);
            }
            _ => {
                self.state = State::Header;
                self.header.push_str(tag);
                self.raw.push_str(tag);
            }
        }
    }

    /// A header is complete.
    fn message(&mut self, out: &mut Out<'_>) {
        let header = std::mem::take(&mut self.header);
        let (channel, recipient) = parts(&header);
        let function = recipient.and_then(|recipient| recipient.strip_prefix("functions."));
        match (function, recipient) {
            (Some(name), _) if self.progress.as_ref().is_some_and(|calls| calls.is_open() && calls.functions.has(name)) => {
                self.state = State::Call(Arguments::of(name));
            }
            (_, Some(_)) => {
                self.give_back(out);
                self.state = State::Body(Body::Foreign);
            }
            (_, None) => {
                self.raw.clear();
                let body = if channel == Some("analysis") { Body::Reasoning } else { Body::Content };
                if body == Body::Reasoning && self.reasons {
                    self.reasoning.part();
                } else {
                    self.answer.part();
                }
                self.state = State::Body(body);
            }
        }
    }

    /// What was read is content.
    fn give_back(&mut self, out: &mut Out<'_>) {
        if let Some(progress) = &mut self.progress {
            progress.abandon();
        }
        self.header.clear();
        let raw = std::mem::take(&mut self.raw);
        raw.chars().for_each(|c| self.answer.push(c, out));
    }

    pub(crate) fn finish(&mut self, ending: OutputEnd, out: &mut Out<'_>) {
        let held = self.tags.take();
        match (&self.state, ending) {
            (State::Body(body), _) => {
                let body = *body;
                held.chars().for_each(|c| self.body(body, c, out));
            }
            // A header that was cut holds no text, and what there is of a call was told.
            (State::Header, OutputEnd::Cut) if self.header.contains("<|") => {}
            (State::Call(_), OutputEnd::Cut) => {}
            _ => {
                self.raw.push_str(&held);
                self.give_back(out);
            }
        }
        if matches!(self.state, State::Body(Body::Reasoning)) && self.reasons {
            self.answer.mark();
        }
        self.reasoning.mark();
        self.reasoning.finish(out);
        self.answer.finish(ending, out);
    }
}

/// The channel and the recipient that a header names.
fn parts(header: &str) -> (Option<&str>, Option<&str>) {
    let mut words = Vec::new();
    for word in header.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find("<|") {
            let end = rest[at..].find("|>").map_or(rest.len(), |end| at + end + 2);
            words.extend([&rest[..at], &rest[at..end]].into_iter().filter(|word| !word.is_empty()));
            rest = &rest[end..];
        }
        words.extend(Some(rest).filter(|word| !word.is_empty()));
    }
    let channel = words.windows(2).find(|pair| pair[0] == CHANNEL).map(|pair| pair[1]);
    (channel, words.iter().find_map(|word| word.strip_prefix("to=")))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn headers_name_channel_and_recipient_in_any_order() {
        for (header, expected) in [
            ("<|channel|>analysis", (Some("analysis"), None)),
            ("<|channel|>commentary to=functions.f <|constrain|>json", (Some("commentary"), Some("functions.f"))),
            ("<|channel|>commentary to=functions.f<|constrain|>json", (Some("commentary"), Some("functions.f"))),
            ("<|start|>assistant to=functions.f<|channel|>commentary json", (Some("commentary"), Some("functions.f"))),
            (" to=f<|channel|>", (None, Some("f"))),
            ("<|start|>assistant", (None, None)),
            ("<|channel|><|", (Some("<|"), None)),
        ] {
            assert_eq!(parts(header), expected, "{header}");
        }
    }
}
