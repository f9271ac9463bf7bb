//! Tables of what programs did while memory changed: marks, and the frames of games. To find what was allocated in a
//! frame, join the allocations that were born in it.
//!
//! Processor samples are in no table: there are too many to be of use beside numbers of memory.

use parquet::errors::ParquetError;

use super::dimensions::Dimensions;
use super::file::{Cell, TableFile};
use crate::query::{MarkRequest, api_name, marks};

impl Dimensions<'_> {
    /// Writes the marks that were written in the interval.
    pub(super) fn marks(&self, file: &mut TableFile) -> Result<(), ParquetError> {
        let (trace, interval) = (self.trace(), self.question.interval);
        for mark in marks(trace, &MarkRequest { interval, process: None, text: "" }) {
            file.row(&[
                Cell::long(mark.process.map(|process| process.0.into())),
                Cell::long(mark.tid.is_known().then_some(mark.tid.0.into())),
                Cell::Text(&trace.activity.marks.provider(mark).label()),
                Cell::Text(&mark.text),
                Cell::Double(self.seconds(mark.at)),
                Cell::Double(self.seconds(mark.from)),
                Cell::Double(self.seconds(mark.to)),
            ])?;
        }
        Ok(())
    }

    /// Writes the frames that end in the interval.
    pub(super) fn game_frames(&self, file: &mut TableFile) -> Result<(), ParquetError> {
        for lane in &self.trace().activity.presents {
            let ending = lane.ending_in(self.question.interval);
            for (number, frame) in ending.filter_map(|number| Some((number, lane.frame(number)?))) {
                file.row(&[
                    Cell::Long(lane.process.0.into()),
                    Cell::Text(api_name(lane.api)),
                    Cell::Long(lane.swap_chain.cast_signed()),
                    Cell::count(number as u64),
                    Cell::Double(self.seconds(frame.from)),
                    Cell::Double(self.seconds(frame.to)),
                ])?;
            }
        }
        Ok(())
    }
}
