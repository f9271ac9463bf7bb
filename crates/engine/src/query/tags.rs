//! Tags: names that rules give to stacks, as a grouping of sites. Among the rules that match any frame of a stack,
//! those of the first level win, and of these the one that matches the innermost frame; folding does not matter.
//!
//! Cost: once per state of the names and rules, each function is matched against each rule, on all CPUs; then one step
//! per path.

use rayon::prelude::*;

use super::functions::{FunctionId, Functions, PathId};
use super::site_names::SiteNames;
use super::texts::Texts;
use super::{Cancel, Cancelled};
use crate::model::SiteId;
use crate::stack_rules::{NO_TAG, StackRules, TagHint};

/// No rule matches; larger than all rule numbers.
const NO_RULE: u32 = u32::MAX;

/// Number of functions in one piece of work.
const PIECE: usize = 1 << 8;

/// The tag of a stack, considering only the frames from the outermost to a given one.
#[derive(Clone, Copy)]
struct Tagged {
    level: u32,
    name: u32,
    /// A rule whose name is completed by the next inner frame.
    awaits: Option<u32>,
}

/// Returns the tags of all sites by the rules that `functions` were made with; these must not be folded. Sites without
/// a matching rule have the tag [`NO_TAG`].
pub fn tags(functions: &Functions, cancel: &Cancel) -> Result<SiteNames, Cancelled> {
    let rules = &**functions.rules();
    let mut names = Texts::default();
    let none = Tagged { level: u32::MAX, name: names.intern(NO_TAG), awaits: None };
    if rules.tags().is_empty() {
        return Ok(SiteNames::new(functions.sites().map(|_| none.name).collect(), names));
    }
    let of_function = of_functions(rules, functions, cancel)?;
    // Callers come before callees.
    let mut of_path = vec![none; functions.paths()];
    for path in (1..functions.paths() as u32).map(PathId) {
        let (caller, function) = (functions.parent(path), functions.function(path));
        let around = of_path[caller.0 as usize];
        let own = function.map_or(NO_RULE, |function| of_function[function.0 as usize]);
        let mut with = |rule: u32, frame: Option<FunctionId>| {
            let tag = &rules.tags()[rule as usize];
            let hint = tag.hint.zip(frame).and_then(|(hint, frame)| hint_text(functions, hint, frame));
            names.intern(&hint.map_or_else(|| tag.name.clone(), |hint| format!("{}\\{hint}", tag.name)))
        };
        of_path[path.0 as usize] = match (own, around.awaits) {
            (own, _) if own != NO_RULE && rules.level(own) <= around.level => {
                let is_of_callee = rules.tags()[own as usize].hint.is_some_and(TagHint::is_of_callee);
                let outer = functions.function(caller).filter(|_| !is_of_callee);
                Tagged { level: rules.level(own), name: with(own, outer), awaits: is_of_callee.then_some(own) }
            }
            (_, Some(rule)) => Tagged { name: with(rule, function), awaits: None, ..around },
            (_, None) => around,
        };
    }
    let of_site = functions.sites().map(|site: SiteId| of_path[functions.path(site).0 as usize].name).collect();
    Ok(SiteNames::new(of_site, names))
}

/// Returns the first matching rule of each function.
fn of_functions(rules: &StackRules, functions: &Functions, cancel: &Cancel) -> Result<Vec<u32>, Cancelled> {
    let mut of_function = vec![NO_RULE; functions.len()];
    of_function.par_chunks_mut(PIECE).enumerate().try_for_each(|(piece, out)| {
        cancel.check()?;
        for (at, rule) in (piece * PIECE..).zip(out) {
            let text = functions.name(FunctionId(at as u32)).text();
            *rule = text.and_then(|text| rules.tag_rule(&text)).unwrap_or(NO_RULE);
        }
        Ok(())
    })?;
    Ok(of_function)
}

/// Returns the text that a neighbouring frame adds to the name.
fn hint_text(functions: &Functions, hint: TagHint, frame: FunctionId) -> Option<String> {
    match hint.is_of_module() {
        true => functions.module(frame).map(|module| functions.module_name(module).to_owned()),
        false => Some(functions.name(frame).to_string()),
    }
}
