//! Time is linear in the output: nothing is read again with each piece.

use std::time::{Duration, Instant};

use super::*;

/// A megabyte of arguments, byte by byte. Reading it anew with each piece would be 500 GB of reading. What is read over and over
/// because nothing comes of it is a quarter as long.
#[test]
fn a_megabyte_in_single_bytes_takes_seconds_at_most() {
    const MEGABYTE: usize = 1 << 20;
    for (at, (parser, head, unit, tail, reasoning)) in [
        (ToolParser::Hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"", "<tool_cal", "\"}}</tool_call>", None),
        // Arguments before the name are held until it comes.
        (ToolParser::Hermes, "<tool_call>{\"arguments\": {\"a\": \"", "xyz ", "\"}, \"name\": \"f\"}</tool_call>", None),
        (ToolParser::Qwen3Coder, "<function=f><parameter=a>", "\n</function>\n", "</parameter></function>", None),
        (ToolParser::Mistral, "[TOOL_CALLS]", "f[ARGS]{}[TOOL_CALLS]", "f[ARGS]{}", None),
        (ToolParser::BareJson, "", "{\"name\": \"f\", \"argument", "", None),
        (ToolParser::Llama3Json, "", "[{{", "", None),
        (ToolParser::Deepseek, "", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>", "", None),
        (ToolParser::GptOss, "", "<|channel|>final<|message|>x ", "", Some(ReasoningParser::Harmony)),
        (ToolParser::Hermes, "<think>", "</thin", "</think>", Some(ReasoningParser::Think)),
        (ToolParser::Hermes, "", " \n", "x", None),
    ]
    .into_iter()
    .enumerate()
    {
        let bytes = if at < 3 { MEGABYTE } else { MEGABYTE / 4 };
        let format =
            OutputFormat { tools: Some(parser), reasoning, declared: Arc::from([]), begun: Begun::Nothing, parallel: true };
        let text = format!("{head}{}{tail}", unit.repeat(bytes / unit.len()));
        let mut reader = OutputParser::new(format);
        let (mut deltas, mut told) = (Vec::new(), 0);
        let begin = Instant::now();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let (piece, more) = rest.split_at(c.len_utf8());
            reader.push(piece, &mut deltas);
            told += deltas.drain(..).count();
            rest = more;
        }
        reader.finish(OutputEnd::Complete, &mut deltas);
        told += deltas.len();
        let took = begin.elapsed();
        println!("{parser} {unit:?}: {took:?}");
        assert!(told > 0);
        // Without optimisation, on a machine that does other things too.
        assert!(took < Duration::from_secs(60), "{parser} {unit:?}: {took:?}");
    }
}
