//! Arguments of `highwater symbols lookup`.

use std::ffi::OsString;
use std::str::FromStr;

use clap::Args;

use crate::cli::for_programs::ForPrograms;
use crate::cli::memory::Memory;
use crate::cli::providers::ProvidersAsked;
use crate::load::Input;
use crate::time_spec::TimeSpec;

#[derive(Args, Debug)]
pub(in crate::cli) struct LookupArgs {
    /// PDB, or with --pid a trace; `demo:` names the built-in demo trace
    #[arg(value_name = "PDB|FILE")]
    pub(super) file: OsString,

    /// Addresses in hexadecimal: relative to the image's base for a PDB, absolute for a trace; T is a time of the trace
    /// [default: the end of the process or of the trace]
    #[arg(value_name = "RVA|ADDRESS[@T]", required = true)]
    pub(super) addresses: Vec<AddressAt>,

    /// Look up addresses of this process in a trace
    #[arg(long, value_name = "N")]
    pub(super) pid: Option<u32>,

    /// Take addresses as they are, not as return addresses
    #[arg(long, requires = "pid")]
    pub(super) exact: bool,

    /// Symbol path: folders, stores and servers with PDBs, as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH", requires = "pid")]
    pub(super) symbols: Option<String>,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    #[command(flatten)]
    pub(super) providers: ProvidersAsked,

    #[command(flatten)]
    pub(super) memory: Memory,
}

impl LookupArgs {
    pub(in crate::cli) fn inputs(&self) -> Vec<Input> {
        vec![Input::from_arg(&self.file)]
    }
}

/// An address, and optionally a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressAt {
    pub(super) address: u64,
    pub(super) at: Option<TimeSpec>,
}

/// Message about a malformed address.
pub(super) const LIKE: &str = "not an address like 0x2e30";

impl FromStr for AddressAt {
    type Err = String;

    /// Parses an address, which may have a backtick in its middle as debuggers write it: ``7ff6`12345678``.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, at) = text.split_once('@').map_or((text, None), |(address, at)| (address, Some(at)));
        let digits = address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")).unwrap_or(address);
        let digits = digits.replacen('`', "", 1);
        let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let address = is_hex.then(|| u64::from_str_radix(&digits, 16).ok()).flatten().ok_or(LIKE)?;
        Ok(Self { address, at: at.map(str::parse).transpose()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_hex_and_may_have_a_time() {
        let parse = |text: &str| text.parse::<AddressAt>().ok().map(|a| (a.address, a.at.is_some()));
        assert_eq!(parse("0x2e30"), Some((0x2E30, false)));
        assert_eq!(parse("2E30@12.5"), Some((0x2E30, true)));
        assert_eq!(parse("fffff800`12345678@-1"), Some((0xFFFF_F800_1234_5678, true)));
        assert_eq!(parse("0XFFFFFFFFFFFFFFFF"), Some((u64::MAX, false)));
        for bad in ["", "0x", "main", "-1", "+1", "0x1_0", "1`2`3", "10000000000000000", "0x1@", "0x1@x", "@1", "0x1@1@2"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
