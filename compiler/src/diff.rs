//! tmp
mod lines;
pub use lines::{LineCount, LineDiff};
