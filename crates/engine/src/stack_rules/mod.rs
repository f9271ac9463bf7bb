//! Rules for call stacks: which frames are the allocator, a library, or the user's own code ([`Role`]; highwater's
//! built-in list and a team's additions), which frames are folded away, and names (tags) for stacks that contain a
//! frame.
//!
//! Rules are immutable and shared. The names of frames carry them (see `names::Names`), so a change of rules is a new
//! state of the names. Fold rules apply wherever the allocator's frames are folded. The first tag rule, from the top,
//! that matches any frame of a stack names the stack.
//!
//! A pattern without `!` matches the function alone, in any module; one with `!` matches `module!function`, and
//! `module!+0xrva` where there is no name. Matching ignores case.
//!
//! Cost: for each distinct name, once, one step per byte and rule; for an unnamed address only the rules that its
//! module can match ([`memo`]). Without rules nothing.

mod file;
mod frame_pattern;
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
use frame_pattern::FramePattern;
pub(crate) use frame_pattern::FrameText;
use memo::{Candidates, Memo};
pub use origins::{OriginRule, WrittenOrigins};
use origins::{Origins, Said};
pub use role::{FrameFacts, Role, is_of_windows};

/// Largest number of rules, of all kinds together; each pattern of a rule counts.
pub(crate) const MAX_RULES: usize = 1_000;

/// Longest pattern, in bytes.
pub(crate) const MAX_FRAME: usize = 1_000;

/// Longest tag name, in bytes.
pub const MAX_NAME: usize = 200;

/// The tag of stacks that no rule names.
pub const NO_TAG: &str = "(no tag)";

/// A rule that leaves matching frames out of stacks and attributes their bytes to the caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FoldRule {
    /// Pattern of the frames.
    pub frame: String,
}

/// A rule that names the stacks that contain a matching frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TagRule {
    /// Pattern of the frames.
    pub frame: String,
    /// The name.
    pub name: String,
    /// Adjacent rules with the same priority form one level. Within a level, the rule that matches the innermost frame
    /// wins. A rule without priority is a level of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The neighbouring frame that completes the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<TagHint>,
}

impl TagRule {
    /// Creates a rule without priority and hint.
    pub fn new(frame: impl Into<String>, name: impl Into<String>) -> Self {
        Self { frame: frame.into(), name: name.into(), priority: None, hint: None }
    }
}

/// The neighbour of the matched frame, and which part of it is appended to the stack's name.
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
    /// Returns whether the neighbour is the callee (the inner frame), not the caller.
    pub(crate) fn is_of_callee(self) -> bool {
        matches!(self, Self::CalleeModule | Self::CalleeFunction)
    }

    /// Returns whether the frame's module is appended, not its function.
    pub(crate) fn is_of_module(self) -> bool {
        matches!(self, Self::CalleeModule | Self::CallerModule)
    }
}

/// The rules of one file or team, with their parsed patterns and caches of matches.
#[derive(Clone, Debug, Default)]
pub struct StackRules {
    folds: Vec<FoldRule>,
    tags: Vec<TagRule>,
    /// The parsed patterns of `folds`, in their order.
    fold_patterns: Vec<FramePattern>,
    tag_patterns: Vec<FramePattern>,
    /// The level of each tag rule.
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

/// Reason why rules are invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// More than [`MAX_RULES`].
    TooMany,
    /// An empty or blank pattern.
    EmptyFrame,
    /// A table without patterns.
    NoPattern,
    /// A pattern of more than [`MAX_FRAME`] bytes.
    LongFrame,
    /// An empty or blank name.
    EmptyName,
    /// A name of more than [`MAX_NAME`] bytes.
    LongName,
    /// [`NO_TAG`] as a name; it is reserved for stacks without a tag.
    NoTag,
    /// A line break or another control character.
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

/// The rules that name the owners of commit (`owners.toml`).
pub(crate) fn owner_rules() -> &'static StackRules {
    static RULES: LazyLock<StackRules> = LazyLock::new(|| {
        // The file is embedded in the program, and a test parses it.
        StackRules::parse(include_str!("owners.toml")).unwrap_or_default()
    });
    &RULES
}

impl StackRules {
    /// Creates rules from lists in order of precedence.
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

    /// Replaces the rules about code origins (allocator, library, own).
    pub fn with_origins(self, written: WrittenOrigins) -> Result<Self, Refusal> {
        if self.folds.len() + self.tags.len() + written.len() > MAX_RULES {
            return Err(Refusal::TooMany);
        }
        written.rules().flat_map(OriginRule::patterns).try_for_each(|pattern| check_frame(pattern))?;
        let origins = Origins::of(&written.allocator, &written.library, &written.own);
        Ok(Self { written, origins, said: Memo::default(), memo: Memo::default(), ..self })
    }

    /// Returns the rules about code origins (allocator, library, own).
    pub fn origins(&self) -> &WrittenOrigins {
        &self.written
    }

    /// Returns the fold rules, in order.
    pub fn folds(&self) -> &[FoldRule] {
        &self.folds
    }

    /// Returns the tag rules, in order.
    pub fn tags(&self) -> &[TagRule] {
        &self.tags
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.folds.len() + self.tags.len() + self.written.len()
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a rule folds the frame of a named function.
    pub fn fold(&self, module: &str, function: &str) -> bool {
        !self.fold_patterns.is_empty() && self.folds_text(FrameText::named(module, function))
    }

    /// Returns whether a rule folds an address in a module where no name is known.
    pub(crate) fn fold_unnamed(&self, module: &str, rva: u64) -> bool {
        !self.fold_patterns.is_empty() && self.folds_text(FrameText::unnamed(module, rva))
    }

    fn folds_text(&self, frame: FrameText) -> bool {
        self.memo.get(frame, |frame| match frame.begin() {
            None => self.fold_patterns.iter().any(|pattern| pattern.fits(frame)),
            Some(begin) => self.candidates(begin).folds.iter().any(|&rule| self.fold_patterns[rule as usize].fits(frame)),
        })
    }

    /// Returns the rules that can match an unnamed frame whose text starts with `begin` (`module!+0x`).
    fn candidates(&self, begin: &str) -> Arc<Candidates> {
        let can = |pattern: &FramePattern| pattern.has_module && pattern.pattern.may_fit(begin, |c| c.is_ascii_hexdigit());
        self.memo.candidates(begin, || Candidates {
            folds: (0..).zip(&self.fold_patterns).filter(|(_, pattern)| can(pattern)).map(|(rule, _)| rule).collect(),
            tags: (0..).zip(&self.tag_patterns).filter(|(_, pattern)| can(pattern)).map(|(rule, _)| rule).collect(),
            origins: (0..).zip(&self.origins.frames).filter(|(_, (pattern, _))| can(pattern)).map(|(rule, _)| rule).collect(),
        })
    }

    /// Returns the first tag rule that matches a frame.
    pub(crate) fn tag_rule(&self, frame: &FrameText) -> Option<u32> {
        let fits = |rule: &u32| self.tag_patterns[*rule as usize].fits(frame);
        match frame.begin() {
            None => (0..self.tag_patterns.len() as u32).find(fits),
            Some(begin) => self.candidates(begin).tags.iter().copied().find(fits),
        }
    }

    /// Returns the level of a tag rule; smaller levels win.
    pub(crate) fn level(&self, rule: u32) -> u32 {
        self.levels[rule as usize]
    }

    /// Returns the names that tag rules give, each once, in the order of their first rules.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut seen = KeyedSet::default();
        self.tags.iter().map(|rule| rule.name.as_str()).filter(move |name| seen.insert(*name))
    }

    /// Returns a pattern that matches only the frame printed as `printed`; a very long name is matched by its
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
        // A function's name can look like an unnamed address.
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
