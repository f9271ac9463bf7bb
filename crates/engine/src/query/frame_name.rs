//! Names of frames and their order.

use crate::stack_rules::FrameText;

/// The name of a frame before it is formatted; its order is that of the formatted names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameName<'a> {
    /// No stack was recorded.
    NoStack,
    /// An address outside all modules.
    At(u64),
    /// Module and rva.
    InModule(&'a str, u64),
    /// Module and function.
    Function(&'a str, &'a str),
}

impl<'a> FrameName<'a> {
    /// Returns the frame's module, if known.
    pub fn module(self) -> Option<&'a str> {
        match self {
            Self::InModule(module, _) | Self::Function(module, _) => Some(module),
            Self::NoStack | Self::At(_) => None,
        }
    }

    /// Returns the frame as rule patterns see it; `None` outside all modules.
    pub(super) fn text(self) -> Option<FrameText> {
        match self {
            Self::Function(module, function) => Some(FrameText::named(module, function)),
            Self::InModule(module, rva) => Some(FrameText::unnamed(module, rva)),
            Self::NoStack | Self::At(_) => None,
        }
    }
}

impl std::fmt::Display for FrameName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStack => f.write_str("(no stack recorded)"),
            Self::At(address) => write!(f, "{address:#x}"),
            Self::InModule(module, rva) => write!(f, "{module}!+{rva:#x}"),
            Self::Function(module, function) => write!(f, "{module}!{function}"),
        }
    }
}

impl Ord for FrameName<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = match (*self, *other) {
            (Self::Function(ours, a), Self::Function(theirs, b)) if ours == theirs => return a.cmp(b),
            (Self::At(a), Self::At(b)) => (a, b),
            (Self::InModule(ours, a), Self::InModule(theirs, b)) if ours == theirs => (a, b),
            _ => return self.to_string().cmp(&other.to_string()),
        };
        // Compare as text: the leading digits first.
        let digits = |n: u64| (64 - n.leading_zeros()).div_ceil(4).max(1);
        let text = |n: u64| (n << (64 - 4 * digits(n)), digits(n));
        text(a).cmp(&text(b))
    }
}

impl PartialOrd for FrameName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_the_order_of_their_names() {
        let numbers = [0, 1, 9, 0xa, 0xf, 0x10, 0x1a, 0xa0, 0x100, 0x1a0, 0xfff, 0x1000, u64::MAX, u64::MAX / 16, 1 << 60];
        let modules = ["a", "a.dll", "a!", "b.dll", "", "#", "0x1"];
        let in_module = modules.iter().flat_map(|name| numbers.map(|n| FrameName::InModule(name, n)));
        let names: Vec<_> = in_module.chain(numbers.map(FrameName::At)).chain([FrameName::NoStack]).collect();
        let functions = modules.iter().flat_map(|name| ["main", "", "+0x1", "Ä"].map(|f| FrameName::Function(name, f)));
        let names: Vec<_> = names.into_iter().chain(functions).collect();
        for a in &names {
            for b in &names {
                assert_eq!(a.cmp(b), a.to_string().cmp(&b.to_string()), "{a} and {b}");
            }
        }
    }
}
