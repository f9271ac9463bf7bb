//! Logins for symbol servers: those of the user's netrc file, which curl and git read too, and those that an environment
//! variable gives for each host.
//!
//! A login is sent to its own host only, encrypted or within this machine. The HTTP library sends it nowhere else when the server
//! redirects. An entry `default` of a netrc file is not used: it would go to every server of the symbol path.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use netrc::{Authenticator, Netrc};
use ureq::http::Uri;

/// Values of the header Authorization: hosts, each with its value behind a blank, separated by semicolons.
const AUTHORIZATION: &str = "HIGHWATER_SYMBOL_AUTHORIZATION";

/// The known logins.
#[derive(Default)]
pub(super) struct Logins {
    /// Hosts in lower case, with values of the header.
    given: Vec<(String, String)>,
    netrc: Option<Netrc>,
}

/// Passwords are not for logs.
impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Logins {
    /// Reads the logins of the user and of this process.
    pub(super) fn of_user() -> Self {
        let given = std::env::var(AUTHORIZATION).unwrap_or_default();
        let read = |file| Netrc::from_file(file).map_err(|error| log::warn!("logins are not read: {error}")).ok();
        Self { given: given_logins(&given), netrc: Netrc::get_file().as_deref().and_then(read) }
    }

    /// The value of the header Authorization for a request, if there is a login for its host.
    pub(super) fn authorization(&self, url: &str) -> Option<String> {
        let uri: Uri = url.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if uri.scheme_str() != Some("https") && !is_here {
            return None;
        }
        let with_port = uri.port().map(|port| format!("{host}:{port}"));
        let given = self.given.iter().find(|(wanted, _)| *wanted == host || Some(wanted) == with_port.as_ref());
        given.map(|(_, value)| value.clone()).or_else(|| {
            let of_host = |(name, login): (&String, &Authenticator)| (*name.to_ascii_lowercase() == host).then(|| basic(login));
            self.netrc.as_ref()?.hosts.iter().find_map(of_host)
        })
    }
}

fn given_logins(text: &str) -> Vec<(String, String)> {
    let login = |login: &str| {
        let (host, value) = login.trim().split_once(char::is_whitespace)?;
        Some((host.to_ascii_lowercase(), value.trim().to_owned()))
    };
    text.split(';').filter_map(login).collect()
}

fn basic(login: &Authenticator) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", login.login, login.password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_goes_to_its_own_host_and_never_in_the_clear() {
        let netrc = "machine Symbols.example.com login me password secret\nmachine 127.0.0.1 login a password b\n\
                     default login all password everybody\n";
        let given = given_logins("build.example.com  Bearer abc; other.example.com:8443 Basic eA==;;nonsense");
        let logins = Logins { given, netrc: Some(netrc.parse().unwrap()) };
        let of = |url: &str| logins.authorization(url);
        assert_eq!(of("https://symbols.example.com/a/b").as_deref(), Some("Basic bWU6c2VjcmV0"));
        assert_eq!(of("https://BUILD.example.com/").as_deref(), Some("Bearer abc"));
        assert_eq!(of("https://other.example.com:8443/x").as_deref(), Some("Basic eA=="));
        assert_eq!(of("http://127.0.0.1:7/x").as_deref(), Some("Basic YTpi"));
        for url in [
            "http://symbols.example.com/a",
            "https://example.com/",
            "https://other.example.com/x",
            "https://evil-symbols.example.com/",
            "https://symbols.example.com.evil.com/",
            "no url",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
        assert!(!format!("{logins:?}").contains("secret"));
    }
}
