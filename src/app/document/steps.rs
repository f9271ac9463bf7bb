//! From mark to mark and from frame to frame: what is gone to is selected if it lasts, the cursor is
//! put there if it does not, and it is in sight afterwards.

use super::Document;
use crate::app::happenings::centered;
use crate::app::state::ids::Stop;
use crate::model::Mark;
use crate::units::{Interval, Ticks};

impl Document {
    /// Goes there, if there is such a thing. Whether anything but the cursor has changed.
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

    /// Where one is: at the cursor, else where the selection or the view begins.
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
        self.cursor = None; // it would be where one was before
        match self.shown_frame() {
            // What is looked at alone is looked at alone.
            Some(_) if self.selection().is_none() => self.history.go_into(self.clamp(frame)),
            _ => self.show_interval(frame, Some(frame)),
        }
        true
    }

    /// Selects and brings into sight, in one step.
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

    /// The frame that the tables show, if it is one.
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
        // That at the cursor, or the first in sight; before it that which ends there.
        let lane = self.chain(self.frames_in_scope()?.chain)?;
        let now = self.now().next();
        let from = lane.times.partition_point(|&time| time < now);
        if by > 0 { Some(from) } else { from.checked_sub(2) }
    }

    /// The longest frame in sight, as far as it is known.
    pub fn worst_frame(&self) -> Option<usize> {
        let bars = self.happenings.answer.frames.as_ref()?.bars.iter();
        // The first of equal ones.
        bars.rev().map(|bar| &bar.longest).max_by_key(|frame| frame.interval.len()).map(|frame| frame.number)
    }
}

/// How long a mark lasts, if it does.
pub fn lasting(mark: &Mark) -> Option<Interval> {
    (mark.from < mark.to).then_some(Interval { from: mark.from, to: mark.to })
}
