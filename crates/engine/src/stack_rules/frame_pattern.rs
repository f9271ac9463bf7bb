//! Frames as patterns see them, and the patterns.

use crate::pattern::Pattern;

/// A frame as patterns see it, in lower case.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct FrameText {
    /// The frame as it is printed.
    whole: String,
    /// Offset of the function, if the frame has a name.
    function: Option<usize>,
    /// Offset of the address digits, if the frame has no name.
    digits: Option<usize>,
}

impl FrameText {
    pub(crate) fn named(module: &str, function: &str) -> Self {
        let mut whole = module.to_lowercase();
        whole.push('!');
        let begin = whole.len();
        whole.push_str(&function.to_lowercase());
        Self { whole, function: Some(begin), digits: None }
    }

    pub(crate) fn unnamed(module: &str, rva: u64) -> Self {
        let begin = format!("{}!+0x", module.to_lowercase());
        Self { whole: format!("{begin}{rva:x}"), function: None, digits: Some(begin.len()) }
    }

    /// Returns the part that all unnamed frames of its module share.
    pub(super) fn begin(&self) -> Option<&str> {
        self.digits.map(|at| &self.whole[..at])
    }
}

/// A frame pattern in lower case.
#[derive(Clone, Debug)]
pub(super) struct FramePattern {
    pub(super) pattern: Pattern,
    /// Whether the pattern includes the module.
    pub(super) has_module: bool,
}

impl FramePattern {
    pub(super) fn new(text: &str) -> Self {
        Self { pattern: Pattern::new(&text.to_lowercase()), has_module: text.contains('!') }
    }

    pub(super) fn fits(&self, frame: &FrameText) -> bool {
        // A function name can contain `!`, too, such as `operator!=`.
        let alone = frame.function.is_some_and(|begin| self.pattern.fits(&frame.whole[begin..]));
        alone || (self.has_module && self.pattern.fits(&frame.whole))
    }
}
