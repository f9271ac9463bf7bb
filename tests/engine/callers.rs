//! Who wanted the memory, by a naive reading of the rule: what a stack is without the allocator's run, and whose it is.

use highwater::model::{NodeId, Site, Trace};
use highwater::query::{FrameName, Recorded};
use highwater::stack_rules::{FrameFacts, Role};
use highwater::symbols::Names;

/// A frame of a stack.
#[derive(Clone)]
pub struct Frame<'a> {
    pub name: FrameName<'a>,
    /// Place of its address in the stack, the outermost being 0, and which function it is there.
    pub at: (usize, u16),
    role: Role,
    module: Option<String>,
}

/// All frames, outermost first, each with all functions that it is.
pub fn frames<'a>(trace: &'a Trace, names: &'a Names, site: &Site) -> Vec<Frame<'a>> {
    let mut out = Vec::new();
    for (place, node) in trace.stacks.path(site.stack).into_iter().enumerate() {
        let frame = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
        for level in frame.shown(false) {
            let (name, function, module) = (frame.name(level), frame.function(level), frame.module());
            let facts = FrameFacts {
                address: frame.address(),
                module: name.module(),
                path: module.map(|module| &*module.path),
                rva: module.map_or(0, |module| frame.address() - module.base),
                function: function.map(|frame| frame.function),
                file: function.and_then(|frame| frame.file),
            };
            let role = names.rules().role(&facts);
            out.push(Frame { name, at: (place, level), role, module: module.map(|module| module.name().to_lowercase()) });
        }
    }
    out
}

/// Number of frames of the allocator's run. `frames` innermost first.
fn run(frames: &[Frame<'_>]) -> usize {
    let is = |frame: &Frame<'_>, role| frame.role.has(role);
    let begin = frames.iter().take_while(|frame| is(frame, Role::ALLOCATOR)).count();
    let rest = &frames[begin..];
    let guests = rest.iter().take(9).position(|frame| is(frame, Role::ENTRY)).map(|entry| entry + 1);
    let unnamed = (1..=4).find(|&count| {
        let Some((guests, [runtime, behind @ ..])) = rest.split_at_checked(count) else { return false };
        let module = &guests[0].module;
        module.is_some()
            && guests.iter().all(|guest| is(guest, Role::UNNAMED) && guest.module == *module && !is(guest, Role::RUNTIME))
            && is(runtime, Role::UNNAMED)
            && is(runtime, Role::RUNTIME)
            && behind.iter().all(|frame| frame.module != *module)
            && behind.iter().any(|frame| !is(frame, Role::WINDOWS))
    });
    match guests.or(unnamed) {
        Some(more) => begin + more + run(&rest[more..]),
        None => begin,
    }
}

fn is_passed(frame: &Frame<'_>) -> bool {
    frame.role.has(Role::LIBRARY) || frame.role.has(Role::ALLOCATOR)
}

/// Where the responsible caller stands. `frames` innermost first.
fn responsible_at(frames: &[Frame<'_>]) -> usize {
    let run = run(frames);
    let own = frames[run..].iter().position(|frame| !is_passed(frame));
    own.map_or(if run < frames.len() { run } else { 0 }, |behind| run + behind)
}

/// The responsible caller as it is printed; `None` without a stack.
pub fn responsible(trace: &Trace, names: &Names, site: &Site) -> Option<String> {
    let mut all = frames(trace, names, site);
    all.reverse();
    all.get(responsible_at(&all)).map(|frame| frame.name.to_string())
}

/// Whether a rule folds the responsible caller.
pub fn is_responsible_folded(trace: &Trace, names: &Names, site: &Site) -> bool {
    let mut all = frames(trace, names, site);
    all.reverse();
    all.get(responsible_at(&all)).is_some_and(|frame| frame.role.has(Role::FOLDED))
}

/// What is left down to the responsible caller, without the addresses around it that only start a thread, outermost first.
pub fn own(trace: &Trace, names: &Names, site: &Site) -> Vec<String> {
    let mut all = frames(trace, names, site);
    all.reverse();
    let mut left = if all.is_empty() { Vec::new() } else { all[responsible_at(&all)..].to_vec() };
    left.reverse();
    let Some(last) = left.last().map(|frame| frame.at.0) else { return Vec::new() };
    while let outermost = left[0].at.0
        && outermost != last
        && left.iter().filter(|frame| frame.at.0 == outermost).all(is_passed)
    {
        left.retain(|frame| frame.at.0 != outermost);
    }
    kept(&left)
}

/// The frames that are left without the run, outermost first; where all is the run, the outermost function.
pub fn without_run<'a>(trace: &'a Trace, names: &'a Names, site: &Site) -> Vec<Frame<'a>> {
    let mut all = frames(trace, names, site);
    all.reverse();
    let run = run(&all);
    let mut left = if run < all.len() { all[run..].to_vec() } else { all[all.len().saturating_sub(1)..].to_vec() };
    left.reverse();
    left
}

/// The same as it is printed without what rules fold, but for an outermost address of which nothing else is left.
pub fn folded(trace: &Trace, names: &Names, site: &Site) -> Vec<String> {
    kept(&without_run(trace, names, site))
}

/// Frames as they are printed, but for what rules fold.
fn kept(all: &[Frame<'_>]) -> Vec<String> {
    let is_kept = |frame: &&Frame<'_>| !frame.role.has(Role::FOLDED);
    let begin = all.first().map_or(0, |frame| frame.at.0);
    let outermost = all.iter().filter(|frame| frame.at.0 == begin);
    let kept_outside = if outermost.clone().any(|frame| is_kept(&frame)) { None } else { outermost.clone().next() };
    let left = kept_outside.into_iter().chain(all.iter().filter(is_kept));
    left.map(|frame| frame.name.to_string()).collect()
}

/// The first frame behind the run as it is printed; `None` without a stack.
pub fn behind_run(trace: &Trace, names: &Names, site: &Site) -> Option<String> {
    if site.stack == NodeId::ROOT {
        return None;
    }
    without_run(trace, names, site).last().map(|frame| frame.name.to_string())
}
