//! What a spec says about tools and reasoning.

use super::{ReasoningParser, ToolParser};

/// What a spec says about tools and reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `[tools]`; `None` for a model that calls none.
    pub tools: Option<ToolSettings>,
    /// `[reasoning] parser`; `None` for a model that does not reason.
    pub reasoning: Option<ReasoningParser>,
}

/// `[tools]` of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSettings {
    /// The wire format of a call.
    pub parser: ToolParser,
    /// The parser's prompt is the only source of instructions: the template is given no tools.
    pub skip_template_tools: bool,
    /// A forced call is begun with the parser's opening tag.
    pub steering: bool,
    /// Reasoning is allowed while tools are declared.
    pub thinking: bool,
}
