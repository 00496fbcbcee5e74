//! The OpenAPI document.

/// The document, as it is sent.
pub(super) const DOCUMENT: &str = include_str!("openapi.json");
