//! Colours of the modules in a flame graph: the widest modules have one each, all others share a neutral one.

use std::collections::BTreeMap;

use crate::app::base::theme::FLAME_COLORS;
use crate::query::{FlameBox, Functions, NodeKey};

/// The widest modules of a flame graph, with the numbers of their colours.
#[derive(Debug, Default)]
pub struct ModuleColors {
    /// Widest first.
    colored: Vec<(Box<str>, usize)>,
    /// Whether there are modules without a colour of their own.
    pub has_others: bool,
}

impl ModuleColors {
    /// Colours for the modules of these boxes. A module has the same colour in every graph, unless a wider one has it.
    pub fn of(boxes: &[FlameBox], functions: &Functions) -> Self {
        let mut widths: BTreeMap<&str, f32> = BTreeMap::new();
        for one in boxes {
            if let Some(module) = module_of(one.key, functions) {
                *widths.entry(module).or_default() += one.width;
            }
        }
        Self::new(widths.into_iter().collect())
    }

    /// Colours for modules with these widths.
    fn new(mut widest: Vec<(&str, f32)>) -> Self {
        widest.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable: equally wide ones by name
        let mut is_taken = [false; FLAME_COLORS];
        let colored = widest.iter().take(FLAME_COLORS).map(|(module, _)| {
            let wanted = hash(module) as usize;
            let free = (0..FLAME_COLORS).map(|by| (wanted + by) % FLAME_COLORS).find(|&number| !is_taken[number]);
            let number = free.unwrap_or(0);
            is_taken[number] = true;
            ((*module).into(), number)
        });
        Self { colored: colored.collect(), has_others: widest.len() > FLAME_COLORS }
    }

    /// The number of a module's colour, if it has one of its own.
    pub fn number(&self, module: &str) -> Option<usize> {
        self.colored.iter().find(|(name, _)| **name == *module).map(|(_, number)| *number)
    }

    /// The modules with a colour of their own, widest first.
    pub fn all(&self) -> impl Iterator<Item = (&str, usize)> {
        self.colored.iter().map(|(name, number)| (&**name, *number))
    }
}

/// The module of a box, if it is of a function of one.
fn module_of(key: NodeKey, functions: &Functions) -> Option<&str> {
    let NodeKey::Function(function) = key else { return None };
    Some(functions.module_name(functions.module(function)?))
}

fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_the_widest_modules_share_a_colour() {
        let names: Vec<String> = (0..20).map(|n| format!("module{n}.dll")).collect();
        let colors = ModuleColors::new(names.iter().zip(1..).map(|(name, width)| (name.as_str(), width as f32)).collect());
        let mut numbers: Vec<usize> = colors.all().map(|(_, number)| number).collect();
        assert_eq!(colors.all().next().map(|(name, _)| name), Some("module19.dll"), "the widest comes first");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..FLAME_COLORS).collect::<Vec<_>>());
        assert!(colors.has_others && colors.number("module0.dll").is_none());
        let alone = ModuleColors::new(vec![("module3.dll", 1.0)]);
        let among = ModuleColors::new(vec![("module3.dll", 9.0), ("module4.dll", 1.0), ("module5.dll", 1.0)]);
        assert_eq!(alone.number("module3.dll"), among.number("module3.dll"), "the widest keeps its own");
    }
}
