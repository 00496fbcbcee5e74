//! The text with which a parser teaches its format, where no chat template does.

use serde_json::{Map, Value, json};

use super::{ToolParser, dumps};

impl ToolParser {
    /// Instructions for the system message: the tools, as the chat completions API declares them, and how one is called.
    pub fn prompt(self, tools: &[Value]) -> String {
        let list: Vec<String> = tools.iter().map(dumps).collect();
        let list = list.join("\n");
        let mut arguments = Map::new();
        arguments.insert("argument".to_owned(), json!("value"));
        let call = self.example_call("function_name", &arguments);
        let rules = match self {
            Self::Hermes => {
                "For each call write one JSON object with the function's name and its arguments inside <tool_call></tool_call> tags:"
            }
            Self::Qwen3Coder => {
                "For each call write a function block inside <tool_call></tool_call> tags, with one parameter block per argument. Text \
                 stands in it as it is, everything else as JSON:"
            }
            Self::Mistral => "For each call write the function's name and then its arguments as one JSON object:",
            Self::BareJson | Self::Llama3Json => {
                "To call a function, answer with one JSON object and nothing else, without tags, code fences or words around it. It is \
                 written like this:"
            }
            Self::Deepseek => {
                "To call functions, end your answer with the calls, each with the function's name and its arguments as one JSON \
                 object:"
            }
            Self::GptOss => {
                "Calls go to the commentary channel, with the function as the recipient and its arguments as one JSON object:"
            }
        };
        format!(
            "# Tools\n\nYou may call these functions to help the user. Each is declared as JSON, with a JSON schema of its arguments.\n\
             <tools>\n{list}\n</tools>\n\n{rules}\n{call}\n\n\
             Call only functions that are declared above. The result comes back as a message of the tool. When no call is needed, \
             answer as usual."
        )
    }
}
