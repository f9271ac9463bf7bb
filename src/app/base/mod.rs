//! Pieces of the window that know nothing of traces: colours, fonts, tables as data, texts.

pub mod background;
pub mod by_hand;
pub mod fonts;
pub mod frame_times;
pub mod help;
pub mod icon;
pub mod message;
pub mod table;
pub mod theme;
pub mod ui_dump;
