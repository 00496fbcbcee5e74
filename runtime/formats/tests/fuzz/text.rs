//! JSON that may be none: right and wrong values, repeated keys, texts that messages must not repeat as they are.

use super::random::Random;

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2.5",
    "64",
    "10000.0",
    "1e-5",
    "-0",
    "1e999",
    "18446744073709551615",
    "18446744073709551616",
    "01",
    "1e",
    "NaN",
];
const STRINGS: [&str; 12] = [
    "\"\"",
    "\"llama\"",
    "\"qwen3\"",
    "\"mistral\"",
    "\"default\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\u001b[2J\"",
    "\"\u{202e}\"",
    "\"full_attention\"",
    "\"../a\"",
    "\"\\x\"",
];

/// Appends a value; objects have keys out of `keys`.
pub fn value(to: &mut String, random: &mut Random, keys: &[&str], depth: usize) {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 | 1 => to.push_str(random.pick(&NUMBERS)),
        2 => to.push_str(random.pick(&STRINGS)),
        3 => to.push_str(random.pick(&["true", "false", "null", "nul", ""])),
        4 => {
            let nested = 1 + random.below(300);
            let rarely = random.one_in(20);
            let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let nested = if rarely { nested } else { 1 };
            to.push_str(&format!("{}0{}", open.repeat(nested), close.repeat(nested)));
        }
        5 => {
            to.push('[');
            for i in 0..random.below(5) {
                to.push_str(if i == 0 { "" } else { "," });
                value(to, random, keys, depth - 1);
            }
            to.push(']');
        }
        _ => {
            to.push('{');
            for i in 0..random.below(5) {
                to.push_str(if i == 0 { "" } else { "," });
                to.push_str(&format!("\"{}\":", random.pick(keys)));
                value(to, random, keys, depth - 1);
            }
            to.push('}');
        }
    }
}
