//! Parts of the window with a worker or a file of their own: each holds its state, does its work aside, and tells
//! what became of it when it is asked once a frame.

pub mod accepted;
pub mod comparison;
pub mod dialogs;
pub mod investigation;
pub mod leftovers;
pub mod manifests;
pub mod names;
pub mod picture;
pub mod providers;
pub mod recent;
pub mod record_dialog;
pub mod recording;
pub mod rule_book;
pub mod saving;
pub mod shared_page;
pub mod source_files;
pub mod tracker_mapping;
