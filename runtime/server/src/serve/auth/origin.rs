//! Which pages may ask, and under which names the server is found.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::{HeaderMap, Uri, header};

use crate::serve::error::ApiError;

/// Pages that may ask from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// All.
    Any,
    /// Those of this origin, as browsers send it.
    One(String),
}

/// Why a text is no origin.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no origin: one is a scheme, a host and perhaps a port, such as https://app.example or http://localhost:3000, and `*` is all"
)]
pub struct OriginError(String);

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let wrong = || OriginError(text.to_owned());
        let (scheme, host) = text.split_once("://").ok_or_else(wrong)?;
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | '?' | '#' | '@' | ',' | '*' | '"');
        if scheme.is_empty() || host.is_empty() || !text.chars().all(|c| plain(c) || c == '/') || host.contains('/') {
            return Err(wrong());
        }
        Ok(Self::One(text.to_ascii_lowercase()))
    }
}

impl Origin {
    /// Whether a page of this origin may ask. One without an origin of its own (`null`: a file, a sandbox) only where all may.
    pub(super) fn allows(&self, found: &str) -> bool {
        match self {
            Self::Any => true,
            Self::One(known) => known.eq_ignore_ascii_case(found),
        }
    }
}

/// The header `Host`: there must be exactly one.
pub(super) fn host(headers: &HeaderMap) -> Result<&str, ApiError> {
    let mut all = headers.get_all(header::HOST).iter();
    match (all.next().map(|host| host.to_str()), all.next()) {
        (Some(Ok(host)), None) => Ok(host),
        _ => Err(ApiError::request("invalid_host", "a request must have the header `host` once, as text")),
    }
}

/// The name of a host, without its port.
pub(super) fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// True for names that lead to this machine without asking anyone.
pub(super) fn is_loopback_name(host: &str) -> bool {
    let name = name(host).to_ascii_lowercase();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    // Names below `localhost` are loopback for browsers (RFC 6761).
    name == "localhost" || name.ends_with(".localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True for a page that came from this host. The scheme does not count: a proxy in front may speak TLS.
pub(super) fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.parse::<Uri>().ok().filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    authority.and_then(|uri| uri.authority().cloned()).is_some_and(|authority| authority.as_str().eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for good in
            ["https://app.example", "http://localhost:3000", "tauri://localhost", "http://[::1]:80", "HTTPS://App.Example"]
        {
            assert!(good.parse::<Origin>().unwrap().allows(&good.to_ascii_lowercase()), "{good}");
        }
        for bad in [
            "",
            "app.example",
            "https://",
            "https://app.example/",
            "https://a/b",
            "https://*.example",
            "null",
            "a, b",
            "https://a b",
        ] {
            assert_eq!(bad.parse::<Origin>(), Err(OriginError(bad.to_owned())));
        }
        assert!("*".parse::<Origin>().unwrap().allows("null"));
    }

    #[test]
    fn ports_are_no_part_of_a_name() {
        let names = ["a", "a:80", "[::1]", "[::1]:80", "a:b", "::1"].map(name);
        assert_eq!(names, ["a", "a", "[::1]", "[::1]", "a:b", "::1"]);
    }
}
