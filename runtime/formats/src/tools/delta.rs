//! What a piece of a model's output adds to an answer.

/// What a piece of output adds to an answer. Calls are numbered from 0 in the order in which they begin, and one ends before the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More of the answer's text.
    Content(String),
    /// More of the reasoning before it.
    Reasoning(String),
    /// A call of this function begins.
    CallBegin {
        /// Which call.
        index: usize,
        /// Which function.
        name: String,
    },
    /// More of the JSON text of the call's arguments.
    CallArguments {
        /// Which call.
        index: usize,
        /// The next part; all parts together are one JSON object.
        text: String,
    },
    /// The call is complete: its arguments are a JSON object.
    CallEnd {
        /// Which call.
        index: usize,
    },
}
