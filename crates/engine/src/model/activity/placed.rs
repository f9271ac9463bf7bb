//! Places of CPU samples and of page faults as one kind of number, for code that gives both their stacks.

/// A CPU sample or a page fault, by its place among those of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::model) enum PlacedEvent {
    Sample(u32),
    Fault(u32),
}

impl PlacedEvent {
    /// Most events of a kind: so many can have a number, with room for the samples of one more event behind them.
    pub(in crate::model) const MOST: usize = (Self::FAULT - u16::MAX as u32 - 1) as usize;
    /// The bit that marks the numbers of faults.
    const FAULT: u32 = 1 << 31;

    /// Its number among all.
    pub(in crate::model) fn number(self) -> u32 {
        match self {
            Self::Sample(place) => place,
            Self::Fault(place) => place | Self::FAULT,
        }
    }

    /// The event with a number.
    pub(in crate::model) fn of(number: u32) -> Self {
        match number & Self::FAULT {
            0 => Self::Sample(number),
            _ => Self::Fault(number & !Self::FAULT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_give_back_the_event_they_were_made_of() {
        for place in [0, 1, PlacedEvent::MOST as u32, PlacedEvent::MOST as u32 + u32::from(u16::MAX)] {
            for event in [PlacedEvent::Sample(place), PlacedEvent::Fault(place)] {
                assert_eq!(PlacedEvent::of(event.number()), event);
            }
        }
    }
}
