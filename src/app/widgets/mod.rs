//! Pieces of panels and views that several of them share.

pub mod brush;
pub mod centered;
pub mod columns;
pub mod drop_down;
pub mod frames;
pub mod icons;
pub mod line;
pub mod list;
pub mod losses;
pub mod mark_menu;
pub mod rule_menu;
pub mod source_lines;
