//! Who may ask: API keys, and which web pages.

mod keys;
mod origin;

pub use keys::{KeyError, Keys};
pub use origin::{Origin, OriginError};

use axum::http::{HeaderMap, Method, StatusCode, header};

use super::error::ApiError;
use super::page;

/// The header that Anthropic's clients send their key in.
const X_API_KEY: &str = "x-api-key";
/// Routes that need no key: whether the process lives and takes requests, which a supervisor asks. The files of the page that lets
/// a person type a key in need none either; they hold nothing about the model.
const OPEN: [&str; 2] = ["/health", "/ready"];

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Who has one of these keys; everybody where there are none.
    pub keys: Keys,
    /// Pages of these origins, beside those that the server sends itself.
    pub origins: Vec<Origin>,
    /// Names in the header `Host`, beside those of this machine's loopback. Only looked at where the server listens on loopback:
    /// there, a page of a name that was pointed to 127.0.0.1 is the only way in for another machine.
    pub hosts: Vec<String>,
}

/// A request that may be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    /// The name of its key, where that has one.
    pub(super) key: Option<String>,
    /// The origin of the page that it comes from, where that is another than the server's own.
    pub(super) origin: Option<String>,
}

impl Access {
    /// Whether a request may be answered by a server that listens on loopback or not.
    pub(super) fn check(&self, method: &Method, path: &str, headers: &HeaderMap, loopback: bool) -> Result<Granted, ApiError> {
        let host = origin::host(headers)?;
        if loopback
            && !origin::is_loopback_name(host)
            && !self.hosts.iter().any(|known| known.eq_ignore_ascii_case(origin::name(host)))
        {
            return Err(ApiError::host(origin::name(host)));
        }
        let origin = self.origin(headers, host)?;
        // A browser asks before it sends a key along, and shows no key when it asks.
        let preflight =
            method == Method::OPTIONS && origin.is_some() && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if preflight || self.keys.is_empty() || OPEN.contains(&path) || page::is_file(path) {
            return Ok(Granted { key: None, origin });
        }
        match self.keys.find(presented(headers)?) {
            Some(name) => Ok(Granted { key: name.map(str::to_owned), origin }),
            None => Err(ApiError::key("the API key is not one of this server's")),
        }
    }

    /// The origin of a page that may ask, whatever else is wrong with its request: it may read why.
    pub(super) fn allowed_origin(&self, headers: &HeaderMap) -> Option<String> {
        origin::host(headers).ok().and_then(|host| self.origin(headers, host).ok().flatten())
    }

    /// The origin of a page that is not the server's own, if it is one of those that may ask.
    fn origin(&self, headers: &HeaderMap, host: &str) -> Result<Option<String>, ApiError> {
        let Some(value) = headers.get(header::ORIGIN) else { return Ok(None) };
        let found = value.to_str().unwrap_or("not text");
        if origin::is_same(found, host) {
            return Ok(None);
        }
        if self.origins.iter().any(|known| known.allows(found)) {
            return Ok(Some(found.to_owned()));
        }
        Err(ApiError::origin(found))
    }
}

/// The key that a request shows.
fn presented(headers: &HeaderMap) -> Result<&[u8], ApiError> {
    let missing = || ApiError::key("an API key is needed: send the header `authorization: Bearer KEY` or `x-api-key: KEY`");
    let bearer = headers.get(header::AUTHORIZATION).map(|value| {
        let (scheme, key) = value.as_bytes().split_at_checked(b"bearer ".len()).unwrap_or_default();
        if scheme.eq_ignore_ascii_case(b"bearer ") { Ok(key.trim_ascii()) } else { Err(missing()) }
    });
    let plain = headers.get(X_API_KEY).map(|value| value.as_bytes());
    match (bearer, plain) {
        (Some(bearer), Some(plain)) if bearer.as_ref().ok() != Some(&plain) => {
            Err(ApiError::key("the headers `authorization` and `x-api-key` show different keys; send one"))
        }
        (Some(bearer), _) => bearer,
        (None, Some(plain)) => Ok(plain),
        (None, None) => Err(missing()),
    }
}

impl ApiError {
    /// 401: no key, or a wrong one. The message never has the key.
    fn key(message: &str) -> Self {
        let error = Self::request("invalid_api_key", message);
        Self { status: StatusCode::UNAUTHORIZED, kind: "authentication_error", ..error }
    }

    /// 403: the name is not one that leads here.
    fn host(name: &str) -> Self {
        let message = format!(
            "the header `host` names `{name}`, and this server listens on loopback: it answers to localhost, 127.0.0.1 and [::1], and to \
             what --allowed-host names"
        );
        Self::forbidden("host_not_allowed", message)
    }

    /// 403: a page that may not ask.
    fn origin(found: &str) -> Self {
        let message = format!("pages of `{found}` may not use this server; --cors-origin allows those that may");
        Self::forbidden("origin_not_allowed", message)
    }

    fn forbidden(code: &'static str, message: String) -> Self {
        Self { status: StatusCode::FORBIDDEN, kind: "permission_error", ..Self::request(code, message) }
    }

    /// 503: every connection is taken.
    pub(super) fn connections(limit: usize) -> Self {
        let message = format!("{limit} connections are open, and there is no place for more; try again later");
        let error = Self::request("too_many_connections", message);
        Self { status: StatusCode::SERVICE_UNAVAILABLE, kind: "server_error", ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn access() -> Access {
        let keys = Keys::read("secret-one alice\nsecret-two\n").unwrap();
        Access { keys, origins: vec!["https://app.example".parse().unwrap()], hosts: vec!["box.lan".into()] }
    }

    fn check(method: &Method, path: &str, list: &[(&'static str, &str)]) -> Result<Granted, (u16, &'static str)> {
        access().check(method, path, &headers(list), true).map_err(|error| (error.status.as_u16(), error.code))
    }

    #[test]
    fn a_key_comes_in_one_of_two_headers() {
        let granted = |key: Option<&str>| Ok(Granted { key: key.map(str::to_owned), origin: None });
        let refused = Err((401, "invalid_api_key"));
        for (list, expected) in [
            (vec![("authorization", "Bearer secret-one")], granted(Some("alice"))),
            (vec![("authorization", "bearer  secret-two ")], granted(None)),
            (vec![("x-api-key", "secret-two")], granted(None)),
            (vec![("x-api-key", "secret-one"), ("authorization", "Bearer secret-one")], granted(Some("alice"))),
            (vec![("x-api-key", "secret-one"), ("authorization", "Bearer secret-two")], refused.clone()),
            (vec![("x-api-key", "secret-one"), ("authorization", "Basic c2VjcmV0")], refused.clone()),
            (vec![("authorization", "Basic secret-one")], refused.clone()),
            (vec![("authorization", "secret-one")], refused.clone()),
            (vec![("authorization", "Bearer secret-on")], refused.clone()),
            (vec![("authorization", "Bearer ")], refused.clone()),
            (vec![("x-api-key", "secret-one2")], refused.clone()),
            (vec![("x-api-key", "")], refused.clone()),
            (vec![], refused.clone()),
        ] {
            let list: Vec<_> = list.into_iter().chain([("host", "localhost")]).collect();
            assert_eq!(check(&Method::POST, "/v1/chat/completions", &list), expected, "{list:?}");
        }
    }

    #[test]
    fn what_a_supervisor_and_a_browser_ask_first_needs_no_key() {
        let host = ("host", "localhost");
        for path in OPEN {
            assert!(check(&Method::GET, path, &[host]).is_ok());
        }
        for path in ["/metrics", "/v1/models", "/debug/plan", "/openapi.json", "/nothing", "/health/"] {
            assert_eq!(check(&Method::GET, path, &[host]), Err((401, "invalid_api_key")), "{path}");
        }
        let (page, asks) = (("origin", "https://app.example"), ("access-control-request-method", "POST"));
        assert!(check(&Method::OPTIONS, "/v1/models", &[host, page, asks]).is_ok());
        assert!(check(&Method::OPTIONS, "/v1/models", &[host, asks]).is_err());
        assert!(check(&Method::OPTIONS, "/v1/models", &[host, page]).is_err());
    }

    #[test]
    fn on_loopback_only_names_of_loopback_lead_here() {
        for name in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.8.9.1", "[::1]:8080", "box.lan", "Box.lan:1", "a.localhost"]
        {
            assert!(check(&Method::GET, "/health", &[("host", name)]).is_ok(), "{name}");
        }
        for name in ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", "192.168.0.1", "[::2]", "0.0.0.0", ""] {
            assert_eq!(check(&Method::GET, "/health", &[("host", name)]), Err((403, "host_not_allowed")), "{name}");
            assert!(access().check(&Method::GET, "/health", &headers(&[("host", name)]), false).is_ok());
        }
        assert_eq!(check(&Method::GET, "/health", &[]), Err((400, "invalid_host")));
        assert_eq!(check(&Method::GET, "/health", &[("host", "localhost"), ("host", "evil")]), Err((400, "invalid_host")));
    }

    #[test]
    fn pages_of_other_origins_are_refused_unless_they_are_named() {
        let key = ("x-api-key", "secret-two");
        let ask = |origin: &str| check(&Method::POST, "/v1/x", &[("host", "localhost:8080"), key, ("origin", origin)]);
        assert_eq!(ask("http://localhost:8080"), Ok(Granted { key: None, origin: None }));
        assert_eq!(ask("https://app.example").unwrap().origin.as_deref(), Some("https://app.example"));
        for other in ["null", "http://localhost", "http://localhost:8081", "https://app.example.evil", "http://app.example", ""] {
            assert_eq!(ask(other), Err((403, "origin_not_allowed")), "{other}");
        }
    }
}
