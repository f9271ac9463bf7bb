//! The place of the user in the trace, as investigations are saved and resumed.

use super::Document;
use crate::app::services::investigation::Bookmark;
use crate::app::state::history::HistoryStop;
use crate::app::state::lanes::LineChoices;

impl Document {
    /// The place of the user now, without the choices in views, which these know.
    pub fn bookmark(&self) -> Bookmark {
        Bookmark {
            stop: self.history.now().clone(),
            cursor: self.cursor,
            tab: Some(self.tab),
            lines: LineChoices { heaps: self.lines.choices(), ..self.lanes.choices() },
            alignment: self.alignment.clone(),
            switched: self.overlays.switched.clone(),
            sources: self.source_choice.clone(),
            views: Vec::new(),
        }
    }

    /// Goes to a place, in one step of the history for all that the history holds.
    pub(super) fn resume(&mut self, bookmark: Bookmark) {
        let view = self.clamp(bookmark.stop.view);
        self.history.resume(HistoryStop { view, ..bookmark.stop });
        self.cursor = bookmark.cursor;
        self.tab = bookmark.tab.unwrap_or(self.tab);
        self.lanes.set_choices(&bookmark.lines);
        self.lines.set_choices(&bookmark.lines.heaps);
        self.alignment = bookmark.alignment;
        self.overlays.switched = bookmark.switched;
        self.source_choice = bookmark.sources;
        self.choose_lines();
    }
}
