//! A second trace to compare the open one with. It is loaded on a thread of its own, with half of the
//! memory that is left, and its names are resolved like those of the open trace.

use std::sync::{Arc, Mutex, PoisonError};

use super::names::Names;
use crate::app::jobs::LoadJob;
use crate::app::state::inputs::short_name;
use crate::load::Input;
use crate::model::Trace;
use crate::paths::Reading;
use crate::query::{Cancel, Cancelled, Fold, Forest, Functions, Index, Totals, totals};
use crate::stack_rules::StackRules;
use crate::symbols;

/// The trace to compare with.
#[derive(Debug, Default)]
pub enum Comparison {
    #[default]
    Nothing,
    Loading(LoadJob),
    Open(Box<Opened>),
}

/// The other trace.
#[derive(Debug)]
pub struct Opened {
    pub name: String,
    pub inputs: Vec<Input>,
    pub ready: Arc<Ready>,
    pub names: Names,
    /// Protects its files from being overwritten.
    _files: Arc<Reading>,
}

/// The other trace as workers use it: each prepared result is made once.
#[derive(Debug)]
pub struct Ready {
    pub trace: Arc<Trace>,
    whole: Mutex<Option<(Arc<Index>, Arc<Totals>)>>,
    joined: Mutex<Option<Joined>>,
}

/// The functions of both traces, and the tree over them.
#[derive(Clone, Debug)]
pub struct Joined {
    pub functions: Arc<Functions>,
    pub forest: Arc<Forest>,
    /// Their sources: the functions of the open trace, and the names of the other one.
    ours: Arc<Functions>,
    names: Arc<symbols::Names>,
}

impl Comparison {
    /// The other trace, once it is loaded.
    pub fn opened(&self) -> Option<&Opened> {
        if let Self::Open(opened) = self { Some(opened) } else { None }
    }

    /// The other trace, mutably.
    pub fn opened_mut(&mut self) -> Option<&mut Opened> {
        if let Self::Open(opened) = self { Some(opened) } else { None }
    }

    /// Whether it is still loading, or its names are still being looked up.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Loading(_) => true,
            Self::Open(opened) => !opened.names.is_settled(),
        }
    }
}

impl Opened {
    pub fn new(inputs: Vec<Input>, trace: Arc<Trace>, names: Names, files: Arc<Reading>) -> Self {
        Self { name: short_name(&inputs), inputs, ready: Arc::new(Ready::new(trace)), names, _files: files }
    }

    /// Applies these rules to the other trace too.
    pub fn set_rules(&mut self, rules: &Arc<StackRules>) {
        self.names.set_rules(rules);
    }

    /// Its names known so far.
    pub fn names(&self) -> &Arc<symbols::Names> {
        self.names.known()
    }
}

impl Ready {
    pub fn new(trace: Arc<Trace>) -> Self {
        Self { trace, whole: Mutex::default(), joined: Mutex::default() }
    }

    /// The index that answers its queries, and the totals of the whole trace.
    pub fn whole(&self, cancel: &Cancel) -> Result<(Arc<Index>, Arc<Totals>), Cancelled> {
        let mut known = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let index = Arc::new(Index::for_one_question(Arc::clone(&self.trace), cancel)?);
        let sums = Arc::new(totals(&index, self.trace.span, cancel)?);
        Ok(known.insert((index, sums)).clone())
    }

    /// The functions of this trace, folded as `ours` is, joined with those of the open one.
    pub fn joined(
        &self,
        names: &Arc<symbols::Names>,
        ours: &Arc<Functions>,
        fold: Fold,
        cancel: &Cancel,
    ) -> Result<Joined, Cancelled> {
        let mut known = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Joined| Arc::ptr_eq(&known.ours, ours) && Arc::ptr_eq(&known.names, names);
        if let Some(known) = known.as_ref().filter(is_it) {
            return Ok(known.clone());
        }
        let theirs = Functions::of(&self.trace, names, fold, cancel)?;
        let functions = Arc::new(Functions::joined([&theirs, ours], cancel)?);
        let forest = Arc::new(Forest::top_down(&functions));
        let (ours, names) = (Arc::clone(ours), Arc::clone(names));
        Ok(known.insert(Joined { functions, forest, ours, names }).clone())
    }
}
