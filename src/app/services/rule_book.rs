//! The user's stack rules: kept in a file of their own beside the settings (or named on the command
//! line), changed in steps that can be undone, read from files of others and written for them. A change
//! of the rules is a new state of the names, so that everything is computed again (see `names`).

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::base::background::Background;
use crate::stack_rules::{FoldRule, StackRules, TagRule, WrittenOrigins};

/// A change of the rules.
#[derive(Clone, Debug)]
pub enum RulesChange {
    /// Fold frames with this pattern.
    Fold(String),
    /// Tag stacks; the rule goes before all others, so that the user's latest choice wins.
    Tag(TagRule),
    RemoveFold(usize),
    RemoveTag(usize),
    /// Move a tag rule up by one.
    RaiseTag(usize),
    RemoveAll,
    Undo,
    Redo,
}

/// The stack rules in force, the steps to undo and redo, and the file that stores them.
#[derive(Debug, Default)]
pub struct RuleBook {
    pub now: Arc<StackRules>,
    before: Vec<Arc<StackRules>>,
    after: Vec<Arc<StackRules>>,
    /// The file that stores them, if any.
    pub file: Option<PathBuf>,
    /// Why the file is not written: it could not be read, and must not be lost.
    pub unread: Option<String>,
    /// Files that are being read or written.
    pub at_work: Background<Result<Option<StackRules>, String>>,
    /// Whether the window with the rules is shown, and the rule in the open dialog for tagging stacks.
    pub is_shown: bool,
    naming: Option<TagRule>,
    /// Whether that dialog has just been opened.
    is_naming_new: bool,
}

impl RuleBook {
    /// Loads the rules of a file; none if it does not exist or cannot be read.
    pub fn load(file: Option<PathBuf>) -> Self {
        let mut book = Self { file, ..Self::default() };
        if let Some(path) = book.file.as_deref().filter(|path| path.exists()) {
            match StackRules::read(path) {
                Ok(rules) => book.now = Arc::new(rules),
                Err(reason) => book.unread = Some(reason),
            }
        }
        book
    }

    /// The rule in the dialog for tagging stacks, and whether the dialog is new, which is reported once.
    pub fn naming(&mut self) -> Option<(TagRule, bool)> {
        let is_new = std::mem::take(&mut self.is_naming_new);
        self.naming.clone().map(|rule| (rule, is_new))
    }

    /// Whether the dialog for tagging stacks is shown.
    pub fn is_naming(&self) -> bool {
        self.naming.is_some()
    }

    /// Opens the dialog for tagging stacks, changes its rule, or closes it.
    pub fn name_stacks(&mut self, naming: Option<TagRule>) {
        self.is_naming_new = self.naming.is_none();
        self.naming = naming;
    }

    pub fn can_undo(&self) -> bool {
        !self.before.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.after.is_empty()
    }

    /// Changes the rules. `None` if they stay the same; an error is a sentence for the user.
    pub fn change(&mut self, change: RulesChange) -> Result<Option<()>, String> {
        let (mut folds, mut tags) = (self.now.folds().to_vec(), self.now.tags().to_vec());
        match change {
            RulesChange::Undo => return Ok(step(&mut self.now, &mut self.before, &mut self.after)),
            RulesChange::Redo => return Ok(step(&mut self.now, &mut self.after, &mut self.before)),
            RulesChange::Fold(frame) => {
                let rule = FoldRule { frame };
                folds.retain(|other| *other != rule);
                folds.push(rule);
            }
            RulesChange::Tag(rule) => {
                let rule = TagRule::new(rule.frame.trim(), rule.name.trim());
                tags.retain(|other| *other != rule);
                tags.insert(0, rule);
            }
            RulesChange::RemoveFold(at) if at < folds.len() => _ = folds.remove(at),
            RulesChange::RemoveTag(at) if at < tags.len() => _ = tags.remove(at),
            RulesChange::RaiseTag(at) if (1..tags.len()).contains(&at) => tags.swap(at - 1, at),
            RulesChange::RemoveAll => (folds, tags) = (Vec::new(), Vec::new()),
            RulesChange::RemoveFold(_) | RulesChange::RemoveTag(_) | RulesChange::RaiseTag(_) => return Ok(None),
        }
        let origins = self.now.origins().clone();
        self.put(folds, tags, origins)
    }

    /// Adds the rules of others after the existing ones.
    pub fn add(&mut self, others: &StackRules) -> Result<Option<()>, String> {
        let (mut folds, mut tags) = (self.now.folds().to_vec(), self.now.tags().to_vec());
        folds.extend(others.folds().iter().filter(|rule| !self.now.folds().contains(rule)).cloned());
        tags.extend(others.tags().iter().filter(|rule| !self.now.tags().contains(rule)).cloned());
        let mut origins = self.now.origins().clone();
        origins.add(others.origins());
        self.put(folds, tags, origins)
    }

    /// Replaces the rules. Origins of code come only from files; every change made here keeps them.
    fn put(&mut self, folds: Vec<FoldRule>, tags: Vec<TagRule>, origins: WrittenOrigins) -> Result<Option<()>, String> {
        let new = StackRules::new(folds, tags).and_then(|rules| rules.with_origins(origins));
        let new = new.map_err(|refusal| format!("This is not a rule: {refusal}."))?;
        if new == *self.now {
            return Ok(None);
        }
        self.before.push(std::mem::replace(&mut self.now, Arc::new(new)));
        self.after.clear();
        Ok(Some(()))
    }

    /// Writes the user's own file.
    pub fn save(&self) -> Result<(), String> {
        match &self.file {
            Some(file) if self.unread.is_none() => self.now.write(file),
            _ => Ok(()),
        }
    }
}

/// Goes one step back, or forward.
fn step(now: &mut Arc<StackRules>, from: &mut Vec<Arc<StackRules>>, to: &mut Vec<Arc<StackRules>>) -> Option<()> {
    to.push(std::mem::replace(now, from.pop()?));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(frame: &str, name: &str) -> TagRule {
        TagRule::new(frame, name)
    }

    #[test]
    fn each_change_can_be_undone_and_done_again() {
        let mut book = RuleBook::default();
        assert_eq!(book.change(RulesChange::Undo), Ok(None));
        assert_eq!(book.change(RulesChange::Fold("a".to_owned())), Ok(Some(())));
        assert_eq!(book.change(RulesChange::Fold("a".to_owned())), Ok(None), "it is there");
        assert_eq!(book.change(RulesChange::Tag(rule("b", " B "))), Ok(Some(())));
        assert_eq!(book.change(RulesChange::Tag(rule("c", "C"))), Ok(Some(())));
        assert_eq!(book.now.tags(), [rule("c", "C"), rule("b", "B")], "what was said last comes first");
        assert_eq!(book.change(RulesChange::RaiseTag(1)), Ok(Some(())));
        assert_eq!(book.now.tags()[0], rule("b", "B"));
        assert!(book.change(RulesChange::Tag(rule("", "D"))).is_err());
        assert_eq!(book.change(RulesChange::RemoveTag(7)), Ok(None));
        assert_eq!(book.change(RulesChange::RemoveAll), Ok(Some(())));
        assert!(book.now.is_empty() && book.can_undo() && !book.can_redo());
        book.change(RulesChange::Undo).unwrap();
        book.change(RulesChange::Undo).unwrap();
        assert_eq!(book.now.tags()[0], rule("c", "C"));
        book.change(RulesChange::Redo).unwrap();
        assert_eq!(book.now.tags()[0], rule("b", "B"));
        book.change(RulesChange::RemoveFold(0)).unwrap();
        assert!(!book.can_redo());
    }

    #[test]
    fn what_a_file_says_of_where_code_comes_from_stays_whatever_is_changed() {
        let text = "[[own]]\nsource = 'C:\\game\\'\n[[library]]\nmodule = 'engine.dll'\n[[tag]]\nframe = 'a'\nname = 'A'\n";
        let mut book = RuleBook { now: Arc::new(StackRules::parse(text).unwrap()), ..RuleBook::default() };
        let origins = book.now.origins().clone();
        assert_eq!((origins.own.len(), origins.library.len()), (1, 1));
        for change in [RulesChange::Fold("b".to_owned()), RulesChange::RemoveTag(0), RulesChange::RemoveAll] {
            assert_eq!(book.change(change), Ok(Some(())));
            assert_eq!(*book.now.origins(), origins);
        }
        let others = StackRules::parse("[[own]]\nmodule = 'mine.dll'\n[[library]]\nmodule = 'engine.dll'\n").unwrap();
        assert_eq!(book.add(&others), Ok(Some(())));
        assert_eq!((book.now.origins().own.len(), book.now.origins().library.len()), (2, 1));
        assert_eq!(book.add(&others), Ok(None));
    }

    #[test]
    fn rules_of_others_come_behind_and_once() {
        let mut book = RuleBook::default();
        book.change(RulesChange::Tag(rule("a", "mine"))).unwrap();
        let others = StackRules::new(vec![FoldRule { frame: "f".to_owned() }], vec![rule("b", "theirs"), rule("a", "mine")]);
        let others = others.unwrap();
        assert_eq!(book.add(&others), Ok(Some(())));
        assert_eq!(book.now.tags(), [rule("a", "mine"), rule("b", "theirs")]);
        assert_eq!(book.add(&others), Ok(None));
    }

    #[test]
    fn what_could_not_be_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stack-rules.toml");
        let mut book = RuleBook::load(Some(file.clone()));
        assert!(book.unread.is_none() && book.now.is_empty());
        book.change(RulesChange::Fold("a".to_owned())).unwrap();
        book.save().unwrap();
        assert_eq!(RuleBook::load(Some(file.clone())).now, book.now);
        std::fs::write(&file, "[[fold]]\nfame = 1\n").unwrap();
        let mut book = RuleBook::load(Some(file.clone()));
        assert!(book.unread.as_ref().unwrap().contains(".toml:2: "));
        book.change(RulesChange::Fold("b".to_owned())).unwrap();
        book.save().unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().contains("fame"));
    }
}
