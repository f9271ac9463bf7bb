//! Numbers, texts, lists and tables as stored values, and those types of other packages that traces have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Damaged, In, Out, Stored, stored};
use crate::etl::{Guid, Pid, Tid};
use crate::pe::Build;
use crate::problem::{Problem, ProblemKind};
use crate::units::{Interval, Layer, Ticks};

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Stored for $type {
            fn put(&self, out: &mut Out) {
                out.bytes(&self.to_le_bytes());
            }

            fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
                from.array().map(Self::from_le_bytes)
            }
        })*
    };
}
numbers!(u8, u16, u32, u64, i64, f64);

impl Stored for bool {
    fn put(&self, out: &mut Out) {
        out.bytes(&[u8::from(*self)]);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged),
        }
    }
}

impl Stored for usize {
    fn put(&self, out: &mut Out) {
        (*self as u64).put(out);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        Self::try_from(u64::get(from)?).map_err(|_| Damaged)
    }
}

impl Stored for Arc<str> {
    fn put(&self, out: &mut Out) {
        out.text(self);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.text()
    }
}

impl Stored for String {
    fn put(&self, out: &mut Out) {
        out.text(self);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.own_text()
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, out: &mut Out) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        Ok(if bool::get(from)? { Some(T::get(from)?) } else { None })
    }
}

impl<T: Stored> Stored for Arc<T> {
    fn put(&self, out: &mut Out) {
        T::put(self, out);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        T::get(from).map(Self::new)
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, out: &mut Out) {
        out.count(self.len());
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        (0..from.count()?).map(|_| T::get(from)).collect()
    }
}

impl<T: Stored> Stored for Arc<[T]> {
    fn put(&self, out: &mut Out) {
        out.count(self.len());
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        Vec::get(from).map(Into::into)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn put(&self, out: &mut Out) {
        out.count(self.len());
        self.iter().for_each(|(key, value)| {
            key.put(out);
            value.put(out);
        });
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        (0..from.count()?).map(|_| <(K, V)>::get(from)).collect()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, out: &mut Out) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    fn put(&self, out: &mut Out) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        Ok((A::get(from)?, B::get(from)?, C::get(from)?))
    }
}

impl Stored for Guid {
    fn put(&self, out: &mut Out) {
        out.bytes(&self.to_bytes());
    }

    fn get(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.array().map(Self::from_bytes)
    }
}

stored!(number Ticks);
stored!(number Pid);
stored!(number Tid);
stored!(struct Interval { from, to });
stored!(enum Layer { 0 = Commit, 1 = Heap, 2 = Tracker });
stored!(struct Build { time_stamp, size, checksum });
stored!(struct Problem { kind, file, offset, detail });
stored!(enum ProblemKind {
    0 = TruncatedBuffer,
    1 = BrokenChain,
    2 = UnwrittenTail,
    3 = Overwritten,
    4 = MissingBuffers,
    5 = DamagedArchive,
    6 = DamagedEvent,
    7 = DamagedCompression,
    8 = ShortPayload,
    9 = BadEvent,
    10 = DamagedHeader,
    11 = UnreadableFile,
    12 = ClockMismatch,
    13 = ReadFailed,
    14 = OutOfOrder,
    15 = NoMemoryEvents,
    16 = LimitReached,
});
