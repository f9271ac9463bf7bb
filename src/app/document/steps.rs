//! Steps from mark to mark and from frame to frame. A target that lasts is selected; a target without
//! duration gets the cursor. The view is moved so that it is visible.

use super::Document;
use crate::app::state::ids::Stop;
use crate::app::state::overlays::centered;
use crate::model::Mark;
use crate::units::{Interval, Ticks};

impl Document {
    /// Goes to a target, if it exists. Returns whether anything but the cursor has changed.
    pub(super) fn step_to(&mut self, stop: Stop) -> bool {
        match stop {
            Stop::Mark(place) => self.go_to_mark(Some(place)),
            Stop::NextMark => {
                let now = self.now();
                self.go_to_mark(Some(self.trace.activity.marks.list.partition_point(|mark| mark.at <= now)))
            }
            Stop::PreviousMark => {
                let now = self.now();
                self.go_to_mark(self.trace.activity.marks.list.partition_point(|mark| mark.at < now).checked_sub(1))
            }
            Stop::Frame(number) => self.go_to_frame(Some(number)),
            Stop::NextFrame => self.go_to_frame(self.frame_beside(1)),
            Stop::PreviousFrame => self.go_to_frame(self.frame_beside(-1)),
            Stop::WorstFrame => self.go_to_frame(self.worst_frame()),
        }
    }

    /// The present position: the cursor, else just before the start of the selection or the view.
    fn now(&self) -> Ticks {
        let begin = |interval: Interval| Ticks(interval.from.0.saturating_sub(1));
        self.cursor.or_else(|| self.selection().map(begin)).unwrap_or_else(|| begin(self.view()))
    }

    fn go_to_mark(&mut self, place: Option<usize>) -> bool {
        let Some(mark) = place.and_then(|place| self.trace.activity.marks.list.get(place)).cloned() else { return false };
        self.cursor = Some(mark.at);
        let before = (self.view(), self.selection());
        let during = lasting(&mark);
        let selection = during.or(self.selection());
        self.show_interval(during.unwrap_or(Interval { from: mark.at, to: mark.at }), selection);
        before != (self.view(), self.selection())
    }

    fn go_to_frame(&mut self, number: Option<usize>) -> bool {
        let Some(frame) = number.and_then(|number| self.frame(number)) else { return false };
        self.cursor = None; // it would stay at the previous place
        match self.shown_frame() {
            // If the view is exactly one frame, the next frame becomes the view.
            Some(_) if self.selection().is_none() => self.history.go_into(self.clamp(frame)),
            _ => self.show_interval(frame, Some(frame)),
        }
        true
    }

    /// Selects an interval and makes it visible, in one step.
    fn show_interval(&mut self, interval: Interval, selection: Option<Interval>) {
        let view = self.view();
        let is_in_sight = view.from <= interval.from && interval.to <= view.to;
        let view = if is_in_sight { view } else { centered(interval, view.len(), self.trace.span) };
        let filters = self.filters().clone();
        self.history.go_and_select(view, filters, selection);
    }

    /// A frame of the swap chain in scope.
    pub fn frame(&self, number: usize) -> Option<Interval> {
        self.chain(self.frames_in_scope()?.chain)?.frame(number)
    }

    /// The frame that is exactly the interval of the tables, if there is one.
    pub fn shown_frame(&self) -> Option<usize> {
        let lane = self.chain(self.frames_in_scope()?.chain)?;
        let interval = self.interval();
        let number = lane.times.partition_point(|&time| time <= interval.from).checked_sub(1)?;
        (lane.frame(number)? == interval).then_some(number)
    }

    fn frame_beside(&self, by: isize) -> Option<usize> {
        if let Some(number) = self.shown_frame() {
            return number.checked_add_signed(by);
        }
        // The frame at the cursor, or the first visible one; backwards the frame that ends there.
        let lane = self.chain(self.frames_in_scope()?.chain)?;
        let now = self.now().next();
        let from = lane.times.partition_point(|&time| time < now);
        if by > 0 { Some(from) } else { from.checked_sub(2) }
    }

    /// The longest visible frame, as far as it is known.
    pub fn worst_frame(&self) -> Option<usize> {
        let bars = self.overlays.answer.frames.as_ref()?.bars.iter();
        // Of equally long frames the first.
        bars.rev().map(|bar| &bar.longest).max_by_key(|frame| frame.interval.len()).map(|frame| frame.number)
    }
}

/// The duration of a mark, if it has one.
pub fn lasting(mark: &Mark) -> Option<Interval> {
    (mark.from < mark.to).then_some(Interval { from: mark.from, to: mark.to })
}
