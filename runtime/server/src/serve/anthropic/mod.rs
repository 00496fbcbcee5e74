//! Anthropic's dialect: its request bodies into [`GenerateRequest`](super::request::GenerateRequest), answers into its messages and
//! events.
//!
//! A body is read by [`read`], which is also how a prompt is counted and shown. An answer's deltas become content blocks in one
//! place ([`reply`]), of which a stream ([`stream`]) sends the events and a whole message is the sum. Errors have the API's form
//! under its paths whoever raised them ([`error`]).
//!
//! | field or header | here |
//! |---|---|
//! | `anthropic-version` | may be left out; if given, `2023-06-01` or `2026-10-21` |
//! | `temperature`, `top_p`, `top_k` | taken whatever the version; what is not given is the spec's |
//! | `anthropic-beta` | asks for nothing: fields of a beta are read or refused by name like any other |
//! | `cache_control` | checked, and asks for nothing: every prompt's prefix is cached, wherever it ends |
//! | `thinking` | `enabled` and `adaptive` turn the template's reasoning on, `disabled` off; without it the template decides |
//! | `thinking.budget_tokens` | checked, and not enforced: `max_tokens` bounds reasoning and answer together |
//! | `tool_result.is_error` | the result's text begins with `Error: `, since templates have no other place for it |
//! | text blocks of one turn | lines of one text; consecutive messages of a role are one turn |
//! | a last message of the assistant | the answer continues its text |
//! | thinking blocks | signatures are empty and not checked; encrypted ones are left out of the prompt |
//! | a call that `max_tokens` cuts | no block of a whole message; in a stream its block ends with half an input |

mod blocks;
mod error;
mod messages;
mod read;
mod reply;
mod routes;
mod stream;
mod thinking;
mod tools;

#[expect(unused_imports, reason = "a layer before the routes tells its errors with it")]
pub(super) use error::respond;
pub(super) use error::told_in_its_form;
pub(super) use read::{is_its_form, read_for, read_to_render};
pub(super) use routes::{complete, count_tokens, is_spoken, messages, model, models};
