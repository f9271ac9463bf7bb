//! Broken limits as SARIF, which code scanning of GitHub, Azure DevOps and others show in the code.
//!
//! Format: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" with errata 01, and its JSON
//! schema. GitHub takes one run of a tool per upload, and results only with a place (GitHub Docs, "SARIF support for code
//! scanning"): so all captures are in one run, and a breach whose line is not in the repository has the place of its
//! rule.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::cli::{Failure, output};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Name of the repository's root in places, as code scanning knows it.
const ROOT: &str = "%SRCROOT%";
/// Characters of a path that are escaped in a URI (RFC 3986, section 3.3: those that are no `pchar`).
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A file in a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) enum Uri {
    /// Its path from the root of the repository, with `/` between folders.
    InRepository(String),
    /// Its absolute path on this machine.
    OnMachine(String),
}

/// A rule.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Rule {
    /// Name, unique.
    pub(in crate::cli) name: String,
    /// Its limits in words.
    pub(in crate::cli) limits: String,
}

/// A broken limit.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Breach {
    /// Index of the rule.
    pub(in crate::cli) rule: usize,
    pub(in crate::cli) text: String,
    pub(in crate::cli) file: Uri,
    pub(in crate::cli) line: usize,
    /// The responsible caller, if known.
    pub(in crate::cli) function: Option<String>,
    /// Text that is the same for the same limit of the same thing in another run.
    pub(in crate::cli) identity: String,
    pub(in crate::cli) capture: String,
}

/// All broken limits, their rules, and remarks about the whole check.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Log {
    pub(in crate::cli) rules: Vec<Rule>,
    pub(in crate::cli) breaches: Vec<Breach>,
    pub(in crate::cli) remarks: Vec<String>,
}

impl Log {
    /// The log as JSON text.
    pub(in crate::cli) fn text(&self) -> Result<String, Failure> {
        let rules = self.rules.iter().map(|rule| ReportingDescriptor {
            id: &rule.name,
            short_description: Message { text: &rule.name },
            full_description: Message { text: &rule.limits },
            default_configuration: Configuration { level: "error" },
        });
        let remarks = self.remarks.iter().map(|text| Notification { level: "warning", message: Message { text } });
        let log = SarifLog {
            schema: SCHEMA,
            version: "2.1.0",
            runs: [Run {
                tool: Tool { driver: Driver { name: "highwater", version: env!("CARGO_PKG_VERSION"), rules: rules.collect() } },
                invocations: [Invocation { execution_successful: true, tool_execution_notifications: remarks.collect() }],
                results: self.breaches.iter().map(|breach| self.result(breach)).collect(),
            }],
        };
        Ok(serde_json::to_string_pretty(&log).map_err(output::unanswered)? + "\n")
    }

    fn result<'a>(&'a self, breach: &'a Breach) -> SarifResult<'a> {
        let function =
            breach.function.iter().map(|name| LogicalLocation { fully_qualified_name: name, kind: "function" }).collect();
        SarifResult {
            rule_id: self.rules.get(breach.rule).map_or("", |rule| &rule.name),
            rule_index: breach.rule,
            level: "error",
            message: Message { text: &breach.text },
            locations: [Location {
                physical_location: PhysicalLocation {
                    artifact_location: ArtifactLocation::of(&breach.file),
                    region: Region { start_line: breach.line.max(1) },
                },
                logical_locations: function,
            }],
            partial_fingerprints: Fingerprints { limit: &breach.identity },
            properties: Properties { capture: &breach.capture },
        }
    }
}

#[derive(Serialize)]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
struct Run<'a> {
    tool: Tool<'a>,
    invocations: [Invocation<'a>; 1],
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
struct Driver<'a> {
    name: &'static str,
    version: &'static str,
    rules: Vec<ReportingDescriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportingDescriptor<'a> {
    id: &'a str,
    short_description: Message<'a>,
    full_description: Message<'a>,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification<'a>>,
}

#[derive(Serialize)]
struct Notification<'a> {
    level: &'static str,
    message: Message<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: Message<'a>,
    locations: [Location<'a>; 1],
    partial_fingerprints: Fingerprints<'a>,
    properties: Properties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    fully_qualified_name: &'a str,
    kind: &'static str,
}

#[derive(Serialize)]
struct Fingerprints<'a> {
    #[serde(rename = "limit/v1")]
    limit: &'a str,
}

#[derive(Serialize)]
struct Properties<'a> {
    capture: &'a str,
}

impl ArtifactLocation {
    fn of(file: &Uri) -> Self {
        let encoded = |path: &str| utf8_percent_encode(path, IN_PATH).to_string();
        match file {
            Uri::InRepository(path) => Self { uri: encoded(path), uri_base_id: Some(ROOT) },
            Uri::OnMachine(path) if path.starts_with('/') => Self { uri: format!("file://{}", encoded(path)), uri_base_id: None },
            // A drive is a part of the path: file:///C:/…
            Uri::OnMachine(path) => {
                let path = path.replace('\\', "/");
                let encoded = encoded(path.trim_start_matches('/')).replacen("%3A", ":", 1);
                Self { uri: format!("file:///{encoded}"), uri_base_id: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        let uri = |file: Uri| {
            let location = ArtifactLocation::of(&file);
            (location.uri, location.uri_base_id)
        };
        assert_eq!(uri(Uri::InRepository("src/a b#%ä.cpp".to_owned())), ("src/a%20b%23%25%C3%A4.cpp".to_owned(), Some(ROOT)));
        assert_eq!(uri(Uri::OnMachine("/home/a b/r.toml".to_owned())), ("file:///home/a%20b/r.toml".to_owned(), None));
        assert_eq!(uri(Uri::OnMachine(r"D:\a b\r.toml".to_owned())), ("file:///D:/a%20b/r.toml".to_owned(), None));
    }
}
