//! Stack rules as a file that a team can share: TOML with `[[fold]]`, `[[tag]]`, `[[allocator]]`, `[[library]]` and
//! `[[own]]`, or [WPA's stack tags](super::stack_tags).
//!
//! The file is untrusted input: it is read like [`crate::toml_file`] describes, and its rules are checked like all
//! rules.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::stack_tags;
use super::{FoldRule, MAX_RULES, OriginRule, Refusal, StackRules, TagHint, TagRule, WrittenOrigins, check_frame, check_name};
use crate::paths::{self, Existing};
use crate::toml_file::{self, BadText as BadRules};

/// Largest file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A parsed file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    fold: Vec<WrittenFold>,
    #[serde(default)]
    tag: Vec<WrittenTag>,
    #[serde(default)]
    allocator: Vec<Spanned<WrittenOrigin>>,
    #[serde(default)]
    library: Vec<Spanned<WrittenOrigin>>,
    #[serde(default)]
    own: Vec<Spanned<WrittenOrigin>>,
}

/// One pattern, or a list of them.
#[derive(Default)]
struct Patterns(Vec<String>);

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> serde::de::Visitor<'de> for OneOrMore {
            type Value = Patterns;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E>(self, one: &str) -> Result<Patterns, E> {
                Ok(Patterns(vec![one.to_owned()]))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Patterns, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Patterns(all))
            }
        }
        from.deserialize_any(OneOrMore)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOrigin {
    #[serde(default)]
    frame: Patterns,
    #[serde(default)]
    module: Patterns,
    #[serde(default)]
    source: Patterns,
    #[serde(default)]
    growth: bool,
}

impl WrittenOrigin {
    fn rule(self) -> OriginRule {
        let Self { frame: Patterns(frame), module: Patterns(module), source: Patterns(source), growth } = self;
        OriginRule { frame, module, source, growth, runtime: false }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFold {
    frame: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTag {
    frame: Spanned<Patterns>,
    name: Spanned<String>,
    #[serde(default)]
    priority: Option<i64>,
    #[serde(default)]
    hint: Option<TagHint>,
}

/// The rules in the form in which they are serialized.
#[derive(Serialize)]
struct ToWrite<'a> {
    fold: &'a [FoldRule],
    tag: &'a [TagRule],
    allocator: &'a [OriginRule],
    library: &'a [OriginRule],
    own: &'a [OriginRule],
}

/// Comment at the top of a written file.
const HEADER: &str = "\
# Rules of highwater for stacks. In a pattern * matches anything (\\* a star), and case is ignored;
# a pattern with ! matches module!function, one without matches the function alone.
# [[fold]] frame: such frames are left out of stacks; their memory counts for their caller.
# [[tag]] frame, name: stacks with such a frame have that name; the first rule that fits, from the top, wins. Of rules that
# stand together with one priority the one wins that fits the innermost frame. hint = 'callee-module' (or callee-function,
# caller-module, caller-function): the name goes on with that frame.
# [[allocator]], [[library]], [[own]] with frame, module (file name) or source (part of a path): who is responsible
# is looked for behind allocators and libraries; with any [[own]], only that is your own code.

";

impl StackRules {
    /// Parses the text of a file; WPA's stack tags become tag rules.
    pub fn parse(text: &str) -> Result<Self, BadRules> {
        if stack_tags::is_xml(text) {
            return stack_tags::parse(text);
        }
        let written: Written = toml_file::parse(text)?;
        let refuse = |place: &Range<usize>, refusal: Refusal| BadRules::at(text, place, refusal.to_string());
        let of_fold = |rule: &WrittenFold| (rule.frame.span(), rule.frame.get_ref().clone());
        let mut frames: Vec<(Range<usize>, String)> = written.fold.iter().map(of_fold).collect();
        for WrittenTag { frame, name, .. } in &written.tag {
            check_name(name.get_ref()).map_err(|refusal| refuse(&name.span(), refusal))?;
            if frame.get_ref().0.is_empty() {
                return Err(refuse(&frame.span(), Refusal::NoPattern));
            }
            frames.extend(frame.get_ref().0.iter().map(|pattern| (frame.span(), pattern.clone())));
        }
        for (i, (place, frame)) in frames.iter().enumerate() {
            let checked = if i < MAX_RULES { check_frame(frame) } else { Err(Refusal::TooMany) };
            checked.map_err(|refusal| refuse(place, refusal))?;
        }
        let origins = |list: Vec<Spanned<WrittenOrigin>>| {
            let rule = |written: Spanned<WrittenOrigin>| {
                let place = written.span();
                let rule = written.into_inner().rule();
                let checked = match rule.patterns().next() {
                    None => Err(Refusal::NoPattern),
                    Some(_) => rule.patterns().try_for_each(|pattern| check_frame(pattern)),
                };
                checked.map(|()| rule).map_err(|refusal| BadRules::at(text, &place, refusal.to_string()))
            };
            list.into_iter().map(rule).collect::<Result<Vec<_>, _>>()
        };
        let origins = WrittenOrigins {
            allocator: origins(written.allocator)?,
            library: origins(written.library)?,
            own: origins(written.own)?,
        };
        let folds = written.fold.into_iter().map(|rule| FoldRule { frame: rule.frame.into_inner() });
        let tags = written.tag.into_iter().flat_map(|WrittenTag { frame, name, priority, hint }| {
            let name = name.into_inner();
            frame.into_inner().0.into_iter().map(move |frame| TagRule { frame, name: name.clone(), priority, hint })
        });
        let rules = Self::new(folds.collect(), tags.collect()).and_then(|rules| rules.with_origins(origins));
        rules.map_err(|refusal| BadRules { line: None, what: refusal.to_string() })
    }

    /// Returns the text of a file with these rules.
    pub fn to_text(&self) -> String {
        let WrittenOrigins { allocator, library, own } = self.origins();
        let rules = ToWrite { fold: self.folds(), tag: self.tags(), allocator, library, own };
        // Serializing lists of strings cannot fail.
        let mut text = toml::to_string(&rules).unwrap_or_default();
        for empty in ["fold = []\n", "tag = []\n", "allocator = []\n", "library = []\n", "own = []\n"] {
            text = text.replace(empty, "");
        }
        HEADER.to_owned() + text.trim_start()
    }

    /// Reads a file. An error is one sentence with the file's name, and the line if it is known.
    pub fn read(path: &Path) -> Result<Self, String> {
        toml_file::read(path, MAX_FILE, Self::parse)
    }

    /// Writes the rules to a file of the program's own; if that fails, the old file stays intact.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let kept = paths::keep(path, &self.to_text(), MAX_FILE);
        kept.map_err(|reason| format!("{} cannot be written: {reason}", path.display()))
    }

    /// Writes the rules to a file that the user named. A file of WPA's stack tags gets only the tag rules, other files
    /// get all.
    pub fn write_to(&self, path: &Path, existing: Existing) -> Result<(), String> {
        let is_of_wpa = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("stacktags"));
        let text = if is_of_wpa { stack_tags::text(self) } else { self.to_text() };
        let written = paths::write(path, existing, |draft| draft.write_all(text.as_bytes()));
        written.map_err(|reason| format!("{} cannot be written: {reason}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn bad(text: &str) -> String {
        StackRules::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_has_two_kinds_of_rules() {
        let text =
            "# a team's\n[[fold]]\nframe = \"engine.dll!*Allocator*\"\n\n[[tag]]\nframe = '*LoadTexture*'\nname = \"Textures\"\n";
        let rules = StackRules::parse(text).unwrap();
        assert_eq!(rules.folds(), [FoldRule { frame: "engine.dll!*Allocator*".to_owned() }]);
        assert_eq!(rules.tags(), [TagRule::new("*LoadTexture*", "Textures")]);
        assert_eq!(StackRules::parse("").unwrap(), StackRules::default());
        assert_eq!(StackRules::parse("\u{feff}").unwrap_or_default(), StackRules::default());
        assert_eq!(StackRules::parse(&StackRules::default().to_text()).unwrap(), StackRules::default());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, parts) in [
            ("[[fold]]\nfame = \"a\"", &["line 2: ", "`fame`", "`frame`"][..]),
            ("\n[[folds]]\nframe = \"a\"", &["line 2: ", "`folds`"]),
            ("[[fold]]\n", &["line 1: ", "`frame`"]),
            ("[[tag]]\nframe = \"a\"\n", &["line 1: ", "`name`"]),
            ("[[fold]]\nframe = 7\n", &["line 2: ", "integer", "string"]),
            ("[[fold]]\nframe = \"a\n", &["line 2: "]),
            ("[[fold]]\nframe = \"a\"\n[[fold]]\nframe = \"\"\n", &["line 4: ", "empty"]),
            ("[[tag]]\nframe = \"a\"\nname = \"(no tag)\"\n", &["line 3: ", "(no tag)"]),
            ("[[own]]\n", &["line 1: ", "no pattern"]),
            ("\n[[allocator]]\nframe = ''\n", &["line 2: ", "empty"]),
            ("[[library]]\nsource = 7\n", &["line 2: ", "list of strings"]),
            ("[[own]]\nmodules = 'a'\n", &["line 2: ", "`modules`"]),
            ("fold = 3", &["line 1: "]),
            ("\u{0}", &["line 1: "]),
        ] {
            let said = bad(text);
            assert!(parts.iter().all(|part| said.contains(part)), "{text:?}: {said}");
            assert!(!said.contains('\n'), "{said:?}");
        }
        let many = "[[fold]]\nframe = \"a\"\n".repeat(MAX_RULES + 1);
        assert!(bad(&many).starts_with(&format!("line {}: ", 2 * MAX_RULES + 2)), "{}", bad(&many));
        assert!(bad(&format!("a = {}", "[".repeat(1 << 20))).starts_with("line 1"), "no room for all that");
    }

    #[test]
    fn files_are_written_whole_and_read_up_to_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("stack-rules.toml");
        let rules = StackRules::parse("[[fold]]\nframe = 'a\\*\"'").unwrap();
        assert!(StackRules::read(&path).unwrap_err().contains("stack-rules.toml cannot be read"));
        rules.write(&path).unwrap();
        assert_eq!(StackRules::read(&path).unwrap(), rules);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft stays");
        fs::write(&path, "#".repeat(MAX_FILE as usize + 1)).unwrap();
        assert!(StackRules::read(&path).unwrap_err().contains("larger than 4096 KB"));
        fs::write(&path, "[[fold]]\nframes = 1").unwrap();
        assert!(StackRules::read(&path).unwrap_err().contains("stack-rules.toml:2: "));
        assert!(StackRules::read(folder.path()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(frames in prop::collection::vec("[^\\p{Cc} ][^\\p{Cc}]{0,20}", 0..6), name in "[^\\p{Cc} ]{1,9}") {
            let folds = frames.iter().cloned().map(|frame| FoldRule { frame }).collect();
            let tags = frames.into_iter().map(|frame| TagRule::new(frame, name.clone())).collect();
            // Names of other Unicode spaces count as empty, too.
            if let Ok(rules) = StackRules::new(folds, tags) {
                prop_assert_eq!(StackRules::parse(&rules.to_text()).unwrap(), rules);
            }
        }

        #[test]
        fn any_text_is_rules_or_a_line(text in "(\\[\\[(fold|tag)\\]\\]\n|frame = |name = |\"a\"|\n|.){0,12}") {
            if let Err(bad) = StackRules::parse(&text) {
                prop_assert!(!bad.what.is_empty() && !bad.what.contains('\n'));
                prop_assert!(bad.line.is_none_or(|line| line <= text.lines().count().max(1) + 1));
            }
        }
    }
}
