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

/// The responsible caller as it is printed; `None` without a stack.
pub fn responsible(trace: &Trace, names: &Names, site: &Site) -> Option<String> {
    let mut all = frames(trace, names, site);
    all.reverse();
    let behind = &all[run(&all)..];
    let own = behind.iter().find(|frame| !frame.role.has(Role::LIBRARY) && !frame.role.has(Role::ALLOCATOR));
    own.or(behind.first()).or(all.first()).map(|frame| frame.name.to_string())
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
    let all = without_run(trace, names, site);
    let is_kept = |frame: &&Frame<'_>| !frame.role.has(Role::FOLDED);
    let outermost = all.iter().filter(|frame| frame.at.0 == 0);
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
