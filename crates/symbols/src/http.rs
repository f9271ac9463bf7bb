//! Requests to a symbol server: for one file, from its beginning or from where a download broke off. System proxy,
//! TLS and redirects are left to the HTTP library.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use ureq::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use ureq::http::{HeaderMap, HeaderName, StatusCode};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Error};

use super::login::Logins;
use super::path::is_encrypted;
use super::trouble::PlaceTrouble;

/// The user agent that is customary for clients of symbol servers; some servers check it.
const USER_AGENT: &str = concat!("Microsoft-Symbol-Server/10.0.0.0 (highwater ", env!("CARGO_PKG_VERSION"), ")");

/// HTTP connections to symbol servers.
#[derive(Clone, Debug)]
pub(super) struct Http {
    any: Agent,
    /// For encrypted connections, which stay encrypted after redirects.
    encrypted: Agent,
    logins: Arc<Logins>,
    /// How long a server may be silent.
    pub(super) patience: Duration,
}

/// The answer of a server.
pub(super) enum Answer {
    /// It has no such file.
    Missing,
    /// The file, or the rest of it.
    Body(Body),
}

/// A file that is being received.
pub(super) struct Body {
    reader: Box<dyn Read>,
    /// The position in the file at which it begins.
    pub(super) start: u64,
    /// Number of bytes to come, if the server says.
    pub(super) length: Option<u64>,
    /// Identifies this version of the file; empty if the server says nothing.
    pub(super) tag: String,
    pub(super) content_type: String,
}

/// The reason why reading a file ended too early.
pub(super) enum Interruption {
    /// The server went silent; another request would wait as long.
    Silent,
    /// The connection broke.
    Broken(String),
}

impl Body {
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Interruption> {
        self.reader.read(buffer).map_err(|error| match Error::from(error) {
            Error::Timeout(_) => Interruption::Silent,
            Error::Io(error) if error.kind() == ErrorKind::TimedOut => Interruption::Silent,
            error => Interruption::Broken(error.to_string()),
        })
    }
}

impl Http {
    /// Connections that give up on a silent server after `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        let agent = |https_only| {
            // The certificates that the system trusts, so that servers inside a company work.
            let provider = if cfg!(windows) { TlsProvider::NativeTls } else { TlsProvider::Rustls };
            let tls = TlsConfig::builder().provider(provider).root_certs(RootCerts::PlatformVerifier).build();
            let config = Agent::config_builder()
                .tls_config(tls)
                .https_only(https_only)
                .http_status_as_error(false)
                .user_agent(USER_AGENT)
                .accept_encoding("identity")
                .timeout_resolve(Some(patience))
                .timeout_connect(Some(patience))
                .timeout_recv_response(Some(patience))
                .timeout_per_read(Some(patience))
                .build();
            config.new_agent()
        };
        Self { any: agent(false), encrypted: agent(true), logins: Arc::new(Logins::of_user()), patience }
    }

    /// Asks for a file or, with `resume`, for the rest of it after the first bytes if it still has that tag.
    pub(super) fn get(&self, url: &str, resume: Option<(u64, &str)>) -> Result<Answer, PlaceTrouble> {
        let agent = if is_encrypted(url) { &self.encrypted } else { &self.any };
        let mut request = agent.get(url);
        if let Some((from, tag)) = resume {
            request = request.header(RANGE, format!("bytes={from}-")).header(IF_RANGE, tag);
        }
        let login = self.logins.authorization(url);
        let has_login = login.is_some();
        if let Some(login) = login {
            request = request.header(AUTHORIZATION, login);
        }
        let response = request.call().map_err(trouble)?;
        let headers = response.headers();
        let start = match response.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT => range_start(&text(headers, CONTENT_RANGE)).ok_or(PlaceTrouble::OtherPart)?,
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Answer::Missing),
            StatusCode::FORBIDDEN => return Err(PlaceTrouble::Forbidden),
            StatusCode::UNAUTHORIZED if has_login => return Err(PlaceTrouble::LoginRefused),
            StatusCode::UNAUTHORIZED => return Err(PlaceTrouble::LoginWanted),
            status => return Err(PlaceTrouble::Status(status.to_string())),
        };
        // Weak tags cannot be used to resume; the date of the last change can.
        let tag = Some(text(headers, ETAG)).filter(|tag| tag.starts_with('"')).unwrap_or_else(|| text(headers, LAST_MODIFIED));
        let length = text(headers, CONTENT_LENGTH).parse().ok();
        let content_type = text(headers, CONTENT_TYPE);
        let reader = Box::new(response.into_body().into_reader());
        Ok(Answer::Body(Body { reader, start, length, tag, content_type }))
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// The first position in a range such as `bytes 100-199/200`.
fn range_start(range: &str) -> Option<u64> {
    range.strip_prefix("bytes")?.trim_start().split('-').next()?.parse().ok()
}

fn trouble(error: Error) -> PlaceTrouble {
    use ErrorKind::{ConnectionRefused, HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
    match error {
        Error::HostNotFound => PlaceTrouble::NoSuchHost,
        Error::Timeout(_) => PlaceTrouble::Silent,
        Error::ConnectionFailed => PlaceTrouble::Refused("no connection".to_owned()),
        Error::Io(error) if error.kind() == TimedOut => PlaceTrouble::Silent,
        Error::Io(error) if matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkDown | NetworkUnreachable) => {
            PlaceTrouble::Refused(error.to_string())
        }
        Error::RequireHttpsOnly(url) => PlaceTrouble::Downgrade(url),
        // The libraries have no common kind for this; the message of each system says what is wrong with the certificate.
        other if other.to_string().to_lowercase().contains("certificate") => PlaceTrouble::Untrusted(other.to_string()),
        other => PlaceTrouble::Protocol(other.to_string()),
    }
}
