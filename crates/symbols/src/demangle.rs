//! Demangles names: functions are shown without parameters and return types. Names that are not decorated, or
//! wrongly, stay as they are.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use undname::Flags;

/// Maximum length of a name; longer names stay as they are. The parser of MSVC names recurses for each nested type,
/// and was seen to withstand this length.
const MAX_LENGTH: usize = 4096;

/// Demangles a C++ or Rust name to what was written in the source.
pub(crate) fn demangle(name: &str) -> String {
    try_demangle(name).unwrap_or_else(|| name.to_owned())
}

/// Maximum nesting of a MinGW name; `MAX_WRITTEN` is the maximum length of its demangled form.
const MAX_DEPTH: u32 = 128;
const MAX_WRITTEN: usize = 1 << 16;

fn try_demangle(name: &str) -> Option<String> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    if name.starts_with('?') {
        return undname::demangle(name, Flags::NAME_ONLY | Flags::NO_TAG_SPECIFIER).ok();
    }
    if name.starts_with("_ZN") || name.starts_with("_R") || name.starts_with("__ZN") {
        let rust = rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
        if rust.is_some() {
            return rust;
        }
    }
    if name.starts_with("_Z") { demangle_itanium(name) } else { None }
}

/// Demangles a C++ name as MinGW and Clang write it.
fn demangle_itanium(name: &str) -> Option<String> {
    let limits = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let symbol = Symbol::new_with_options(name, &limits).ok()?;
    let words = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types().recursion_limit(MAX_DEPTH);
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, &words).ok()?;
    Some(text.0)
}

/// A name that stops growing: each of its parts can be referred to again, so a few letters can stand for millions.
struct Bounded(String);

impl cpp_demangle::DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_WRITTEN {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Removes the decoration of a C name on 32-bit x86: `_cdecl`, `_stdcall@8`, `@fastcall@8`, `vectorcall@@8`.
pub(super) fn undecorate_x86(name: &str) -> &str {
    let without_size = |name: &'_ str| -> Option<usize> {
        let (stem, size) = name.rsplit_once('@')?;
        (!size.is_empty() && size.bytes().all(|b| b.is_ascii_digit())).then_some(stem.trim_end_matches('@').len())
    };
    let stem = without_size(name).map_or(name, |len| &name[..len]);
    let prefix = if stem.len() < name.len() { ['_', '@'].as_slice() } else { &['_'] };
    match stem.strip_prefix(prefix) {
        Some(rest) if !rest.is_empty() => rest,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_without_parameters_and_return_types() {
        assert_eq!(demangle("?world@hello@@QEDAXXZ"), "hello::world");
        assert_eq!(demangle("??2@YAPEAX_K@Z"), "operator new");
        assert_eq!(demangle("?set_fmode@__scrt_file_policy@@SAXXZ"), "__scrt_file_policy::set_fmode");
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangle("_ZN4game10load_levelEj"), "game::load_level");
        assert_eq!(demangle("_Znwy"), "operator new");
        assert_eq!(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector<int, std::allocator<int> >::push_back");
    }

    #[test]
    fn what_is_no_decorated_name_stays() {
        for name in ["", "?", "??", "main", "_ZN", "_R", "?@@@@", "operator new", "?world@hello", "_Z", "_ZN4game"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn deeply_nested_names_are_no_end_of_the_program() {
        for length in [100, 1000, 4000, MAX_LENGTH + 1, 1 << 20] {
            let pointers = format!("?f@@YAX{}H@Z", "PEA".repeat(length / 3));
            let templates = format!("{}H{}", "?$A@V".repeat(length / 8), "@@".repeat(length / 8));
            let rust = format!("_RNv{}", "Nv".repeat(length / 2));
            let itanium = ["P", "I", "N", "St", "FvP", "XadL_Z"].map(|part| format!("_Z1f{}i", part.repeat(length / part.len())));
            let msvc = [pointers, format!("?{templates}@@YAXXZ"), format!("??${templates}")];
            for name in msvc.into_iter().chain(itanium).chain([rust]) {
                assert!(demangle(&name).len() <= 2 << 20);
            }
        }
        // Each level refers to the previous one twice.
        let laughs = (0..400).fold(String::from("H"), |inner, _| format!("U?$A@{inner}U0@@@"));
        assert!(demangle(&format!("?f@@YAX{laughs}@Z")).len() <= 2 << 20);
        // Itanium names can do that, too: each pair consists of the previous pair, twice.
        let pairs: String = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars().map(|last| format!("S_IS{last}_S{last}_E")).collect();
        assert!(demangle(&format!("_Z1f1AIiiE{pairs}")).len() <= 2 << 20);
    }

    #[test]
    fn decorations_of_32_bit_c_come_off() {
        let names = [
            ("_main", "main"),
            ("@__CheckForDebuggerJustMyCode@4", "__CheckForDebuggerJustMyCode"),
            ("___scrt_unhandled_exception_filter@4", "__scrt_unhandled_exception_filter"),
            ("vector@@16", "vector"),
            ("_", "_"),
            ("name@", "name@"),
            ("plain", "plain"),
        ];
        for (decorated, name) in names {
            assert_eq!(undecorate_x86(decorated), name);
        }
    }
}
