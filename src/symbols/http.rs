//! What is asked of a symbol server: one file, from its beginning or from where a
//! download broke off. System proxy, TLS and redirects are the HTTP library's.

use std::io::Read;
use std::time::Duration;

use ureq::Agent;
use ureq::http::StatusCode;
use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

/// Customary for clients of symbol servers, some of which look at it.
const USER_AGENT: &str = concat!("Microsoft-Symbol-Server/10.0.0.0 (highwater ", env!("CARGO_PKG_VERSION"), ")");

/// How the reason begins if this system does not vouch for the server.
pub(super) const UNTRUSTED: &str = "its certificate is not trusted";

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Http {
    agent: Agent,
}

/// What a server answered.
pub(super) enum Answer {
    /// It has no such file.
    Missing,
    /// The file, or the rest of it.
    Body(Body),
}

/// A file that is coming.
pub(super) struct Body {
    pub(super) reader: Box<dyn Read>,
    /// Where in the file it begins.
    pub(super) start: u64,
    /// Bytes that come, if the server says.
    pub(super) length: Option<u64>,
    /// What tells this version of the file from others; empty if the server does not say.
    pub(super) tag: String,
    pub(super) content_type: String,
}

impl Http {
    /// One that gives a silent server up after `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        // Whom the system trusts, so that servers inside a company work.
        let provider = if cfg!(windows) { TlsProvider::NativeTls } else { TlsProvider::Rustls };
        let tls = TlsConfig::builder().provider(provider).root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .user_agent(USER_AGENT)
            .accept_encoding("identity")
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience))
            .timeout_per_read(Some(patience))
            .build();
        Self { agent: config.new_agent() }
    }

    /// Asks for a file, or for what is behind its first bytes if it is still that of the tag.
    pub(super) fn get(&self, url: &str, resume: Option<(u64, &str)>) -> Result<Answer, String> {
        let mut request = self.agent.get(url);
        if let Some((from, tag)) = resume {
            request = request.header(RANGE, format!("bytes={from}-")).header(IF_RANGE, tag);
        }
        let response = request.call().map_err(|error| describe(&error))?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let start = match response.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT => range_start(&header(CONTENT_RANGE)).ok_or("it answered with an impossible range")?,
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Answer::Missing),
            status => return Err(format!("it answered {status}")),
        };
        // Weak tags and no tags cannot be resumed by.
        let tag = Some(header(ETAG)).filter(|tag| tag.starts_with('"')).unwrap_or_else(|| header(LAST_MODIFIED));
        let length = header(CONTENT_LENGTH).parse().ok();
        let content_type = header(CONTENT_TYPE);
        let reader = Box::new(response.into_body().into_reader());
        Ok(Answer::Body(Body { reader, start, length, tag, content_type }))
    }
}

/// The first byte of `bytes 100-199/200`.
fn range_start(range: &str) -> Option<u64> {
    range.strip_prefix("bytes")?.trim_start().split('-').next()?.parse().ok()
}

fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "it was not found; is there a network?".to_owned(),
        ureq::Error::ConnectionFailed => "it does not answer".to_owned(),
        ureq::Error::Timeout(_) => "it was silent for too long".to_owned(),
        // The libraries have no common kind for this; what each system says tells what is wrong with it.
        other if other.to_string().to_lowercase().contains("certificate") => format!("{UNTRUSTED} ({other})"),
        other => format!("it could not be asked: {other}"),
    }
}
