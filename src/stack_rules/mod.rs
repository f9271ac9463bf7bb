//! Rules for stacks: what of them is the allocator, a library, or the user's own ([`Role`]; highwater's own list and what
//! a team adds to it), frames that are folded away, and names (tags) for stacks that have a frame.
//!
//! Rules are immutable and shared; whoever has names of frames has the rules too (see
//! `symbols::Names`), so that other rules are another state of the names. Where a fold rule
//! acts is where the allocator's frames are folded. Of the tag rules the first one that fits
//! any frame of a stack, from the top, gives the stack its name.
//!
//! A pattern without `!` is about functions alone, whatever module they are in; one with `!`
//! about `module!function`, and also `module!+0xrva` where there is no name. Letters fit in
//! any case.
//!
//! Cost: for a name a step for each of its bytes and rule, once; for a place without a name only for the rules that its
//! module can fit ([`memo`]). Without rules nothing.

mod file;
mod memo;
mod origins;
mod plain_name;
mod role;
mod stack_tags;

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use crate::tables::KeyedSet;
pub use crate::toml_file::BadText as BadRules;
use memo::{Candidates, Memo};
pub use origins::{OriginRule, WrittenOrigins};
use origins::{Origins, Said};
pub use role::{FrameFacts, Role, is_of_windows};

/// Rules at most, of all kinds together; each pattern of a rule counts.
pub const MAX_RULES: usize = 1_000;

/// Bytes of a pattern at most.
pub const MAX_FRAME: usize = 1_000;

/// Bytes of a tag's name at most.
pub const MAX_NAME: usize = 200;

/// What stacks are under to which no rule gives a name.
pub const NO_TAG: &str = "(no tag)";

/// Frames that are left out of stacks: what they hold is their caller's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FoldRule {
    /// Pattern.
    pub frame: String,
}

/// Stacks with such a frame have a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TagRule {
    /// Pattern.
    pub frame: String,
    /// The name.
    pub name: String,
    /// Rules that stand together with one priority are of one level: of these the one counts that fits the innermost frame.
    /// A rule without one is a level of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// What the name goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<TagHint>,
}

impl TagRule {
    /// Without priority and hint.
    pub fn new(frame: impl Into<String>, name: impl Into<String>) -> Self {
        Self { frame: frame.into(), name: name.into(), priority: None, hint: None }
    }
}

/// The frame beside the one that a rule fits, whose module or function the stack's name goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum TagHint {
    CalleeModule,
    CalleeFunction,
    CallerModule,
    CallerFunction,
}

impl TagHint {
    /// Whether it is the frame inside, not that around.
    pub fn is_of_callee(self) -> bool {
        matches!(self, Self::CalleeModule | Self::CalleeFunction)
    }

    /// Whether it is the frame's module, not its function.
    pub fn is_of_module(self) -> bool {
        matches!(self, Self::CalleeModule | Self::CallerModule)
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct StackRules {
    folds: Vec<FoldRule>,
    tags: Vec<TagRule>,
    /// Of the rules, in their order.
    fold_patterns: Vec<FramePattern>,
    tag_patterns: Vec<FramePattern>,
    /// By rule that gives a name.
    levels: Vec<u32>,
    memo: Memo<bool>,
    written: WrittenOrigins,
    origins: Origins,
    said: Memo<Option<Said>>,
}

impl PartialEq for StackRules {
    fn eq(&self, other: &Self) -> bool {
        (&self.folds, &self.tags, &self.written) == (&other.folds, &other.tags, &other.written)
    }
}

impl Eq for StackRules {}

/// Why rules cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// More than [`MAX_RULES`].
    TooMany,
    /// A pattern without a letter.
    EmptyFrame,
    /// A table without any pattern.
    NoPattern,
    /// A pattern of more than [`MAX_FRAME`] bytes.
    LongFrame,
    /// A name without a letter.
    EmptyName,
    /// A name of more than [`MAX_NAME`] bytes.
    LongName,
    /// What stands for stacks without a name is none.
    NoTag,
    /// Line breaks and the like.
    ControlCharacter,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "more than {MAX_RULES} rules"),
            Self::EmptyFrame => f.write_str("the pattern of a frame is empty"),
            Self::NoPattern => f.write_str("no pattern: give frame, module or source"),
            Self::LongFrame => write!(f, "the pattern of a frame has more than {MAX_FRAME} bytes"),
            Self::EmptyName => f.write_str("the name is empty"),
            Self::LongName => write!(f, "the name has more than {MAX_NAME} bytes"),
            Self::NoTag => write!(f, "{NO_TAG} stands for stacks without a name"),
            Self::ControlCharacter => f.write_str("a control character in a pattern or name"),
        }
    }
}

/// The rules that name the owners of commit (`assets/owners.toml`).
pub fn owner_rules() -> &'static StackRules {
    static RULES: LazyLock<StackRules> = LazyLock::new(|| {
        // The file is part of the program, and a test reads it.
        StackRules::parse(include_str!("../../assets/owners.toml")).unwrap_or_default()
    });
    &RULES
}

impl StackRules {
    /// From rules, the first ones first.
    pub fn new(folds: Vec<FoldRule>, tags: Vec<TagRule>) -> Result<Self, Refusal> {
        if folds.len() + tags.len() > MAX_RULES {
            return Err(Refusal::TooMany);
        }
        folds.iter().try_for_each(|rule| check_frame(&rule.frame))?;
        for rule in &tags {
            check_frame(&rule.frame)?;
            check_name(&rule.name)?;
        }
        let tag_patterns = tags.iter().map(|rule| FramePattern::new(&rule.frame)).collect();
        let begins = |(i, rule): (usize, &TagRule)| {
            let is_of_level = rule.priority.is_some() && i > 0 && tags[i - 1].priority == rule.priority;
            u32::from(!is_of_level)
        };
        let level = |last: &mut u32, begins: u32| {
            *last += begins;
            Some(*last)
        };
        let levels = tags.iter().enumerate().map(begins).scan(0, level).collect();
        let fold_patterns = folds.iter().map(|rule| FramePattern::new(&rule.frame)).collect();
        Ok(Self { folds, tags, fold_patterns, tag_patterns, levels, ..Self::default() })
    }

    /// The same rules with others about where code comes from.
    pub fn with_origins(self, written: WrittenOrigins) -> Result<Self, Refusal> {
        if self.folds.len() + self.tags.len() + written.len() > MAX_RULES {
            return Err(Refusal::TooMany);
        }
        written.rules().flat_map(OriginRule::patterns).try_for_each(|pattern| check_frame(pattern))?;
        let origins = Origins::of(&written.allocator, &written.library, &written.own);
        Ok(Self { written, origins, said: Memo::default(), memo: Memo::default(), ..self })
    }

    /// What is said of where code comes from.
    pub fn origins(&self) -> &WrittenOrigins {
        &self.written
    }

    /// The rules that fold, in order.
    pub fn folds(&self) -> &[FoldRule] {
        &self.folds
    }

    /// The rules that give names, in order.
    pub fn tags(&self) -> &[TagRule] {
        &self.tags
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.folds.len() + self.tags.len() + self.written.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a rule folds the frame of a named function.
    pub fn fold(&self, module: &str, function: &str) -> bool {
        !self.fold_patterns.is_empty() && self.folds_text(FrameText::named(module, function))
    }

    /// Whether a rule folds the frame at a place of a module where no name is known.
    pub fn fold_unnamed(&self, module: &str, rva: u64) -> bool {
        !self.fold_patterns.is_empty() && self.folds_text(FrameText::unnamed(module, rva))
    }

    fn folds_text(&self, frame: FrameText) -> bool {
        self.memo.get(frame, |frame| match frame.begin() {
            None => self.fold_patterns.iter().any(|pattern| pattern.fits(frame)),
            Some(begin) => self.candidates(begin).folds.iter().any(|&rule| self.fold_patterns[rule as usize].fits(frame)),
        })
    }

    /// The rules that a frame without a name can fit whose name begins so.
    fn candidates(&self, begin: &str) -> Arc<Candidates> {
        let can = |pattern: &FramePattern| pattern.has_module && pattern.pattern.may_fit(begin, |c| c.is_ascii_hexdigit());
        self.memo.candidates(begin, || Candidates {
            folds: (0..).zip(&self.fold_patterns).filter(|(_, pattern)| can(pattern)).map(|(rule, _)| rule).collect(),
            tags: (0..).zip(&self.tag_patterns).filter(|(_, pattern)| can(pattern)).map(|(rule, _)| rule).collect(),
            origins: (0..).zip(&self.origins.frames).filter(|(_, (pattern, _))| can(pattern)).map(|(rule, _)| rule).collect(),
        })
    }

    /// The first rule that gives stacks with this frame a name.
    pub(crate) fn tag_rule(&self, frame: &FrameText) -> Option<u32> {
        let fits = |rule: &u32| self.tag_patterns[*rule as usize].fits(frame);
        match frame.begin() {
            None => (0..self.tag_patterns.len() as u32).find(fits),
            Some(begin) => self.candidates(begin).tags.iter().copied().find(fits),
        }
    }

    /// The level of a rule that gives a name; those of smaller ones win.
    pub(crate) fn level(&self, rule: u32) -> u32 {
        self.levels[rule as usize]
    }

    /// All names that rules give, each once, in the order of their first rules.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut seen = KeyedSet::default();
        self.tags.iter().map(|rule| rule.name.as_str()).filter(move |name| seen.insert(*name))
    }

    /// The pattern that only a frame fits which is printed so; of a very long name its
    /// beginning.
    pub fn pattern_of(printed: &str) -> String {
        let mut pattern = Pattern::escape(printed);
        if pattern.len() > MAX_FRAME {
            pattern.truncate(pattern.floor_char_boundary(MAX_FRAME - 1));
            if pattern.ends_with('\\') {
                pattern.pop();
            }
            pattern.push('*');
        }
        pattern
    }
}

fn check_frame(frame: &str) -> Result<(), Refusal> {
    match () {
        () if frame.trim().is_empty() => Err(Refusal::EmptyFrame),
        () if frame.len() > MAX_FRAME => Err(Refusal::LongFrame),
        () if frame.contains(char::is_control) => Err(Refusal::ControlCharacter),
        () => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    match name.trim() {
        "" => Err(Refusal::EmptyName),
        NO_TAG => Err(Refusal::NoTag),
        _ if name.len() > MAX_NAME => Err(Refusal::LongName),
        _ if name.contains(char::is_control) => Err(Refusal::ControlCharacter),
        _ => Ok(()),
    }
}

/// A frame as patterns see it, in small letters.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct FrameText {
    /// As it is printed.
    whole: String,
    /// Where its function begins, if it has a name.
    function: Option<usize>,
    /// Where the digits of its place begin, if it has none.
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

    /// What is the same for all places without a name in its module.
    fn begin(&self) -> Option<&str> {
        self.digits.map(|at| &self.whole[..at])
    }
}

/// See the module.
#[derive(Clone, Debug)]
struct FramePattern {
    pattern: Pattern,
    /// Whether it is about the module too.
    has_module: bool,
}

impl FramePattern {
    fn new(text: &str) -> Self {
        Self { pattern: Pattern::new(&text.to_lowercase()), has_module: text.contains('!') }
    }

    fn fits(&self, frame: &FrameText) -> bool {
        // Names of functions can have a `!` too, as `operator!=`.
        let alone = frame.function.is_some_and(|begin| self.pattern.fits(&frame.whole[begin..]));
        alone || (self.has_module && self.pattern.fits(&frame.whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(frame: &str) -> StackRules {
        StackRules::new(vec![FoldRule { frame: frame.to_owned() }], Vec::new()).unwrap()
    }

    #[test]
    fn patterns_are_about_functions_and_with_a_module_about_both() {
        let game = |pattern: &str, function: &str| fold(pattern).fold("Game.exe", function);
        assert!(game("loadTEXTURE", "LoadTexture") && !game("Load", "LoadTexture"));
        assert!(game("*load*", "LoadTexture") && !game("*game*", "LoadTexture"), "the module does not count");
        assert!(game("game.exe!Load*", "LoadTexture") && !game("other.dll!Load*", "LoadTexture"));
        assert!(game("game*!*", "LoadTexture") && game("*!LoadTexture", "LoadTexture"));
        assert!(game("operator!=", "operator!=") && game("game.exe!operator!=", "operator!="));
        assert!(game(r"operator\*", "operator*") && !game(r"operator\*", "operator new"));
        assert!(game("GRÖSSE", "größe") == game("größe", "GRÖSSE"));
    }

    #[test]
    fn frames_without_a_name_are_folded_by_module() {
        assert!(fold("game.exe!*").fold_unnamed("GAME.exe", 0x12));
        assert!(fold("game.exe!+0x1*").fold_unnamed("game.exe", 0x12));
        assert!(!fold("*").fold_unnamed("game.exe", 0x12) && !fold("game.*").fold_unnamed("game.exe", 0x12));
        assert!(!StackRules::default().fold("game.exe", "main"));
    }

    #[test]
    fn what_was_said_of_a_name_is_not_forgotten_by_mistake() {
        let rules = fold("*!+0x1*");
        // A function can be called like a place without a name.
        assert!(!rules.fold("a.dll", "b") && rules.fold_unnamed("a.dll", 0x10) && rules.fold("a.dll", "+0x10"));
        let says = |rules: &StackRules| (0..40_000u64).filter(|&rva| rules.fold_unnamed("a.dll", rva)).count();
        let once = says(&rules);
        assert_eq!((says(&rules), says(&rules.clone())), (once, once), "more names than are kept");
        let asked = std::cell::Cell::new(0);
        let memo = Memo::default();
        for _ in 0..10 {
            assert!(memo.get(FrameText::unnamed("a.dll", 7), |_| asked.replace(asked.get() + 1) < 10));
        }
        assert_eq!(asked.get(), 1, "a name is held against rules once");
    }

    #[test]
    fn the_first_rule_that_fits_gives_the_name_and_rules_share_names() {
        let rules = vec![TagRule::new("b*", "B"), TagRule::new("*", "all"), TagRule::new("c", "B")];
        let rules = StackRules::new(Vec::new(), rules).unwrap();
        assert_eq!(rules.names().collect::<Vec<_>>(), ["B", "all"]);
        let of =
            |function| rules.tag_rule(&FrameText::named("m", function)).map(|rule| rules.tags()[rule as usize].name.as_str());
        assert_eq!((of("bc"), of("c"), of("x")), (Some("B"), Some("all"), Some("all")));
        let priority = |frame: &str, priority| TagRule { priority, ..TagRule::new(frame, "x") };
        let rules = vec![
            priority("a", Some(2)),
            priority("b", Some(2)),
            priority("c", None),
            priority("d", None),
            priority("e", Some(2)),
        ];
        let rules = StackRules::new(Vec::new(), rules).unwrap();
        assert_eq!((0..5).map(|rule| rules.level(rule)).collect::<Vec<_>>(), [1, 1, 2, 3, 4]);
    }

    #[test]
    fn what_cannot_be_a_rule_is_refused() {
        let tag = |frame: &str, name: &str| StackRules::new(Vec::new(), vec![TagRule::new(frame, name)]).err();
        assert_eq!(tag("a", "b"), None);
        assert_eq!(tag(" ", "b"), Some(Refusal::EmptyFrame));
        assert_eq!(tag("a", ""), Some(Refusal::EmptyName));
        assert_eq!(tag("a", NO_TAG), Some(Refusal::NoTag));
        assert_eq!(tag("a\nb", "b"), Some(Refusal::ControlCharacter));
        assert_eq!(tag(&"a".repeat(MAX_FRAME + 1), "b"), Some(Refusal::LongFrame));
        assert_eq!(tag("a", &"b".repeat(MAX_NAME + 1)), Some(Refusal::LongName));
        let many = vec![FoldRule { frame: "a".to_owned() }; MAX_RULES + 1];
        assert_eq!(StackRules::new(many, Vec::new()), Err(Refusal::TooMany));
    }

    #[test]
    fn the_pattern_of_a_frame_fits_it_however_long_it_is() {
        for function in ["a".repeat(5_000), "*".repeat(5_000), "ä*".repeat(5_000), "operator*".to_owned()] {
            let rules = fold(&StackRules::pattern_of(&format!("m.dll!{function}")));
            assert!(rules.fold("M.DLL", &function));
            assert!(!rules.fold("M.DLL", "operator new"));
        }
    }
}
