//! The names of the open trace: its [`Symbols`] handle, the names known now, and what the window has
//! told the handle. Nothing here waits: the handle's workers do, and they request a repaint when there
//! is news.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use eframe::egui;

use crate::app::state::settings::SymbolSettings;
use crate::demo;
use crate::model::{ProcessId, Trace};
use crate::query::Tree;
use crate::stack_rules::StackRules;
use crate::symbols::{self, BuildSources, FrameKind, ModuleKey, ModuleReport, ModuleState, Place, Sources, SymbolPath, Symbols};

/// The part of a view on the screen, whose names are resolved first.
pub enum Looked {
    /// Rows of a tree.
    Lines { trace: Arc<Trace>, tree: Arc<Tree>, lines: Range<usize> },
    /// Frames without names.
    Frames(Arc<SeenFrames>),
}

/// Frames without names: only their addresses are known.
#[derive(Debug)]
pub struct SeenFrames {
    pub trace: Weak<Trace>,
    /// Process, number of a module in that process, and address of the frame relative to the module's base.
    pub frames: Vec<(ProcessId, u32, u64)>,
}

/// The default symbol server.
pub const MICROSOFT: &str = "srv*https://msdl.microsoft.com/download/symbols";

/// The symbol options of the command line.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// A symbol path for this run, searched before all others; its servers may be contacted.
    pub path: Option<String>,
    /// Folder for resolved names and downloads, instead of the system's cache folder.
    pub cache: Option<PathBuf>,
}

/// A user's change to the symbols of one module.
#[derive(Clone, Debug)]
pub enum ModuleChange {
    Retry,
    Choose(PathBuf),
    Exclude,
}

/// The places to search for symbols, from the settings and the command line.
#[derive(Clone, Debug)]
pub struct Search {
    pub sources: Sources,
    /// Servers on the path that may not be contacted (yet).
    pub unasked: Vec<String>,
}

impl Search {
    /// The sources for a trace with these volumes and folders of PDBs beside it.
    pub fn of((volumes, folders): (&[(String, String)], &[PathBuf]), settings: &SymbolSettings, given: &Given) -> Self {
        let store = given.cache.as_ref().map(|folder| folder.join("symbols")).or_else(Sources::default_store);
        let parse = |text: &str| SymbolPath::parse(text, store.as_deref());
        let mut usual = parse(&settings.path);
        if settings.environment {
            usual.append(SymbolPath::from_environment(store.as_deref()));
        }
        let mut path = given.path.as_deref().map(parse).unwrap_or_default();
        if usual.chains.is_empty() && path.chains.is_empty() {
            usual = parse(MICROSOFT);
        }
        let mut unasked = Vec::new();
        if settings.network != Some(true) {
            unasked = usual.servers().iter().map(ToString::to_string).collect();
            usual = usual.without_servers();
        }
        path.append(usual);
        let path = path.behind(folders);
        let sources = Sources {
            beside_image: settings.beside_image,
            where_linked: settings.where_linked,
            path,
            network: true, // forbidden servers were removed from the path
            store,
            volumes: volumes.to_vec(),
            embedded: vec![demo::symbols()],
            ..Sources::default()
        };
        Self { sources, unasked }
    }

    /// The places in order, in words for the user.
    pub fn places(&self) -> Vec<String> {
        let near = [(self.sources.beside_image, "beside the image"), (self.sources.where_linked, "where the linker wrote it")];
        let near = near.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name.to_owned());
        let chain = |chain: &Vec<Place>| chain.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ");
        near.chain(self.sources.path.chains.iter().filter(|places| !places.is_empty()).map(chain)).collect()
    }
}

/// Pause between two updates of the names.
const PAUSE: Duration = Duration::from_millis(150);

/// How long a running query is left alone at first although new names are known.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two searches for new frames in a growing trace.
const AGAIN: Duration = Duration::from_secs(3);

/// The names of one trace, with the handle that resolves them.
#[derive(Debug)]
pub struct Names {
    symbols: Symbols,
    /// The publication whose frames were requested last, and when.
    trace: Weak<Trace>,
    begun: Instant,
    /// Set by the workers, cleared by the window.
    news: Arc<AtomicBool>,
    pub search: Search,
    /// The names that the tree is made with, and the stack rules for them.
    known: Arc<symbols::Names>,
    rules: Arc<StackRules>,
    version: u64,
    /// All modules, those with most frames first.
    pub modules: Vec<ModuleReport>,
    is_done: bool,
    /// When the tree was last requested with new names.
    asked: Option<Instant>,
    patience: Duration,
    /// The visible lines of a tree, as last reported to the handle.
    lines: Option<(Weak<Trace>, Arc<Tree>, Range<usize>)>,
    /// The visible frames, as last reported to the handle.
    frames: Option<Arc<SeenFrames>>,
}

impl Names {
    /// Starts to resolve the names of a trace.
    pub fn start(ctx: &egui::Context, trace: &Arc<Trace>, search: Search, given: &Given, rules: &Arc<StackRules>) -> Self {
        let sources = search.sources.clone();
        let mut options = symbols::Options { sources, frees: true, samples: true, ..symbols::Options::default() };
        if let Some(cache) = &given.cache {
            options.saved = Some(cache.join("names"));
        }
        let news = Arc::new(AtomicBool::new(false));
        let (ctx, theirs) = (ctx.clone(), Arc::clone(&news));
        let notify = move || {
            // Downloads notify for every few bytes; the window needs no more than this.
            if !theirs.swap(true, Ordering::AcqRel) {
                ctx.request_repaint_after(Duration::from_millis(30));
            }
        };
        Self {
            symbols: Symbols::start(Arc::clone(trace), options, |_| true, notify),
            trace: Arc::downgrade(trace),
            begun: Instant::now(),
            news,
            search,
            known: Arc::new(symbols::Names::default().with_rules(Arc::clone(rules))),
            rules: Arc::clone(rules),
            version: 0,
            modules: Vec::new(),
            is_done: false,
            asked: None,
            patience: PATIENCE,
            lines: None,
            frames: None,
        }
    }

    /// The modules that have names, for finding their source files.
    pub fn build_sources(&self) -> BuildSources {
        self.symbols.build_sources()
    }

    /// Requests the new frames of a grown trace: from time to time, and when it is `settled`.
    pub fn go_on(&mut self, trace: &Arc<Trace>, settled: bool) {
        let is_due = settled || (self.symbols.is_done() && self.begun.elapsed() >= AGAIN);
        if is_due && !std::ptr::eq(self.trace.as_ptr(), Arc::as_ptr(trace)) {
            if self.search.sources.volumes != trace.volumes {
                self.search.sources.volumes.clone_from(&trace.volumes);
                self.symbols.change_sources(self.search.sources.clone());
            }
            self.symbols.go_on(Arc::clone(trace));
            (self.trace, self.begun, self.is_done) = (Arc::downgrade(trace), Instant::now(), false);
        }
    }

    /// Takes the news. Returns whether the tree should be made with new names now; `is_busy` says whether a query runs.
    pub fn update(&mut self, ctx: &egui::Context, is_busy: bool) -> bool {
        if self.news.swap(false, Ordering::AcqRel) {
            self.modules = self.symbols.modules();
            self.is_done = self.symbols.is_done();
        }
        let (version, names) = self.symbols.names();
        if version == self.version {
            return false;
        }
        let now = Instant::now();
        let since = self.asked.map_or(Duration::MAX, |asked| now - asked);
        // The first names are worth waiting for; later ones must not keep the peaks and the graph from
        // ever being computed.
        let wait = if is_busy { self.patience } else { PAUSE };
        if since < wait {
            ctx.request_repaint_after(PAUSE.min(wait - since));
            return false;
        }
        if is_busy && self.asked.is_some() {
            self.patience *= 2;
        }
        (self.version, self.asked) = (version, Some(now));
        self.known = self.with_rules(names);
        true
    }

    /// Changes the rules. They are part of the names' state, so everything is made with them again.
    pub fn set_rules(&mut self, rules: &Arc<StackRules>) {
        self.rules = Arc::clone(rules);
        self.known = Arc::new(self.known.with_rules(Arc::clone(rules)));
    }

    fn with_rules(&self, names: Arc<symbols::Names>) -> Arc<symbols::Names> {
        if self.rules.is_empty() { names } else { Arc::new(names.with_rules(Arc::clone(&self.rules))) }
    }

    /// The names that the tree is made with.
    pub fn known(&self) -> &Arc<symbols::Names> {
        &self.known
    }

    /// Whether all that can be resolved is resolved and on display.
    pub fn is_settled(&self) -> bool {
        self.is_done && !self.news.load(Ordering::Acquire) && self.symbols.names().0 == self.version
    }

    /// The number of modules that are finished, and of all that have frames.
    pub fn progress(&self) -> (usize, usize) {
        use ModuleState::{Excluded, Failed, Ready};
        let ended = |module: &&ModuleReport| matches!(module.state, Ready | Failed(_) | Excluded);
        let used = self.modules.iter().filter(|module| module.state != ModuleState::Unused);
        (used.clone().filter(ended).count(), used.count())
    }

    /// The number of modules whose symbols were not found.
    pub fn missing(&self) -> usize {
        self.modules.iter().filter(|module| matches!(module.state, ModuleState::Failed(_))).count()
    }

    /// Reports what is on the screen: its names are resolved first.
    pub fn look_at(&mut self, looked: Looked) {
        if self.is_done {
            return;
        }
        match looked {
            Looked::Lines { trace, tree, lines } => {
                let is_it = |(_, known, range): &(_, Arc<Tree>, Range<usize>)| Arc::ptr_eq(known, &tree) && *range == lines;
                if self.lines.as_ref().is_some_and(is_it) {
                    return;
                }
                self.lines = Some((Arc::downgrade(&trace), tree, lines));
            }
            Looked::Frames(frames) => {
                if self.frames.as_ref().is_some_and(|known| Arc::ptr_eq(known, &frames)) {
                    return;
                }
                self.frames = Some(frames);
            }
        }
        self.tell_what_is_seen();
    }

    fn tell_what_is_seen(&self) {
        let lines = self.lines.as_ref().and_then(|(trace, tree, lines)| Some((trace.upgrade()?, tree, lines.clone())));
        let of_lines = lines.iter().flat_map(|(trace, tree, lines)| {
            lines.clone().filter_map(|line| {
                let (frame, _) = tree.frame(trace, line)?;
                Some((frame.module()?, frame.address(), frame.kind()))
            })
        });
        let frames = self.frames.as_ref().and_then(|seen| Some((seen.trace.upgrade()?, seen)));
        let of_frames = frames.iter().flat_map(|(trace, seen)| {
            seen.frames.iter().flat_map(|&(process, module, rva)| {
                let module = trace.process(process).modules.get(module as usize);
                // It may be a caller in one stack and not in another.
                let kinds = [FrameKind::Sampled, FrameKind::Caller];
                module.into_iter().flat_map(move |module| kinds.map(|kind| (module, module.base + rva, kind)))
            })
        });
        self.symbols.look_at(of_lines.chain(of_frames));
    }

    /// Carries out the user's change to a module.
    pub fn change(&self, key: &ModuleKey, change: ModuleChange) {
        match change {
            ModuleChange::Retry => self.symbols.retry(key),
            ModuleChange::Choose(file) => self.symbols.choose(key, file),
            ModuleChange::Exclude => self.symbols.exclude(key),
        }
    }

    /// Changes the sources: modules without symbols are searched for again.
    pub fn search_again(&mut self, search: Search) {
        self.symbols.change_sources(search.sources.clone());
        self.search = search;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(settings: &SymbolSettings, given: Option<&str>) -> (Vec<String>, Vec<String>) {
        let given = Given { path: given.map(str::to_owned), cache: Some("cache".into()) };
        let search = Search::of((&[], &[]), settings, &given);
        (search.sources.path.servers().iter().map(ToString::to_string).collect(), search.unasked)
    }

    #[test]
    fn no_server_is_asked_without_leave() {
        let none: Vec<String> = Vec::new();
        let asked = |url: &str| vec![url.to_owned()];
        let mut settings = SymbolSettings { path: "srv*https://mine".to_owned(), environment: false, ..Default::default() };
        assert_eq!(servers(&settings, None), (none.clone(), asked("https://mine")));
        settings.network = Some(false);
        assert_eq!(servers(&settings, None), (none.clone(), asked("https://mine")));
        settings.network = Some(true);
        assert_eq!(servers(&settings, None), (asked("https://mine"), none));
        // A server on the command line may be contacted.
        settings.network = None;
        assert_eq!(servers(&settings, Some("srv*https://given")), (asked("https://given"), asked("https://mine")));
    }

    #[test]
    fn without_any_path_the_public_server_is_offered() {
        let settings = SymbolSettings { environment: false, ..Default::default() };
        let (asked, unasked) = servers(&settings, None);
        assert!(asked.is_empty());
        assert_eq!(unasked, ["https://msdl.microsoft.com/download/symbols"]);
        assert!(servers(&settings, Some("/folder")).1.is_empty());
    }
}
