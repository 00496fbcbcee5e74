//! A whole answer: its parts put together.

use tenon_formats::tools::Delta;

use super::{Answer, Ending, Part, TokenUsage, Told};
use crate::serve::error::ApiError;

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::serve) struct Whole {
    /// In order.
    pub(in crate::serve) choices: Vec<WholeChoice>,
    pub(in crate::serve) usage: TokenUsage,
}

/// One choice of a whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::serve) struct WholeChoice {
    pub(in crate::serve) content: Option<String>,
    pub(in crate::serve) reasoning: Option<String>,
    pub(in crate::serve) calls: Vec<WholeCall>,
    pub(in crate::serve) tokens: Vec<Told>,
    /// `None` until it is known.
    pub(in crate::serve) ending: Option<Ending>,
    /// The last call has not ended.
    is_calling: bool,
}

/// A call of a whole answer. Its id is the dialect's ([`Service::call_id`](crate::serve::Service::call_id)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct WholeCall {
    pub(in crate::serve) name: String,
    /// The JSON text of an object; cut where the answer was.
    pub(in crate::serve) arguments: String,
}

impl WholeChoice {
    /// Adds what comes next.
    pub(in crate::serve) fn add(&mut self, delta: Delta) {
        let append = |to: &mut Option<String>, text: String| to.get_or_insert_default().push_str(&text);
        match delta {
            Delta::Content(text) => {
                self.give_up_call();
                append(&mut self.content, text);
            }
            Delta::Reasoning(text) => append(&mut self.reasoning, text),
            Delta::CallBegin { name, .. } => {
                self.give_up_call();
                self.calls.push(WholeCall { name, arguments: String::new() });
                self.is_calling = true;
            }
            Delta::CallArguments { text, .. } => {
                if let Some(call) = self.calls.last_mut() {
                    call.arguments.push_str(&text);
                }
            }
            Delta::CallEnd { .. } => self.is_calling = false,
        }
    }

    /// The answer is over.
    pub(in crate::serve) fn end(&mut self, ending: Ending) {
        if ending != Ending::Length {
            self.give_up_call();
        }
        self.ending = Some(ending);
    }

    /// A call that goes on as something else was none: its text comes as content. A stream has told its beginning by then.
    fn give_up_call(&mut self) {
        if std::mem::take(&mut self.is_calling) {
            self.calls.pop();
        }
    }
}

impl Answer {
    /// Everything, once it is there.
    pub(in crate::serve) async fn whole(mut self) -> Result<Whole, ApiError> {
        let mut whole = Whole { choices: vec![WholeChoice::default(); self.choices()], ..Whole::default() };
        while let Some(part) = self.next().await? {
            match part {
                Part::Delta { choice, deltas, tokens } => {
                    if let Some(choice) = whole.choices.get_mut(choice) {
                        deltas.into_iter().for_each(|delta| choice.add(delta));
                        choice.tokens.extend(tokens);
                    }
                }
                Part::End { choice, ending } => {
                    if let Some(choice) = whole.choices.get_mut(choice) {
                        choice.end(ending);
                    }
                }
                Part::Usage(usage) => whole.usage = usage,
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(deltas: &[Delta], ending: Ending) -> WholeChoice {
        let mut choice = WholeChoice::default();
        deltas.iter().for_each(|delta| choice.add(delta.clone()));
        choice.end(ending);
        choice
    }

    #[test]
    fn a_call_that_was_none_is_left_out_and_one_that_was_cut_is_told() {
        let begin = Delta::CallBegin { index: 0, name: "f".into() };
        let part = Delta::CallArguments { index: 0, text: "{\"a\"".into() };
        let names = |choice: &WholeChoice| choice.calls.iter().map(|call| call.arguments.clone()).collect::<Vec<_>>();
        let cut = choice(&[begin.clone(), part.clone()], Ending::Length);
        assert_eq!(names(&cut), ["{\"a\""]);
        let none = choice(&[begin.clone(), part.clone(), Delta::Content("{\"a\" no".into())], Ending::Stop);
        assert_eq!((names(&none).len(), none.content.as_deref()), (0, Some("{\"a\" no")));
        let rest = Delta::CallArguments { index: 0, text: ": 1}".into() };
        let whole = choice(&[begin, part, rest, Delta::CallEnd { index: 0 }, Delta::Content("!".into())], Ending::ToolCalls);
        assert_eq!((names(&whole), whole.content.as_deref()), (vec!["{\"a\": 1}".to_owned()], Some("!")));
    }
}
