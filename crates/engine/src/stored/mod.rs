//! Values as bytes, for files that the same build of the program reads again: the fields of a value one after the other,
//! without names, numbers little-endian and of a fixed width, each text once.
//!
//! The macro `stored!` makes a type one of those values. It names all fields or variants, so the compiler
//! asks for a new one. Only files of the program's own are read, but nothing in them is believed: a list takes no more memory
//! than there are bytes for its entries, and what is no value of its type is [`Damaged`].
//!
//! Cost: a copy of each number; a look-up for each text that is written.

mod bytes;
mod values;

pub use bytes::{In, Out};

/// Bytes are not what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it is damaged")]
pub struct Damaged;

/// A value that can be written as bytes and read again.
pub trait Stored: Sized {
    /// Writes it.
    fn put(&self, out: &mut Out);

    /// Reads one.
    fn get(from: &mut In<'_>) -> Result<Self, Damaged>;
}

/// Implements [`Stored`] for a struct, from the names of all its fields, or for an enum, from all its variants with a number
/// for each.
macro_rules! stored {
    (struct $name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::stored::Stored for $name {
            fn put(&self, out: &mut $crate::stored::Out) {
                let Self { $($field),* } = self;
                $($crate::stored::Stored::put($field, out);)*
            }

            fn get(from: &mut $crate::stored::In<'_>) -> Result<Self, $crate::stored::Damaged> {
                $(let $field = $crate::stored::Stored::get(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    };
    (number $name:ident) => {
        impl $crate::stored::Stored for $name {
            fn put(&self, out: &mut $crate::stored::Out) {
                let Self(number) = self;
                $crate::stored::Stored::put(number, out);
            }

            fn get(from: &mut $crate::stored::In<'_>) -> Result<Self, $crate::stored::Damaged> {
                Ok(Self($crate::stored::Stored::get(from)?))
            }
        }
    };
    (enum $name:ident { $($number:literal = $variant:ident $(($($field:ident),*))?),* $(,)? }) => {
        impl $crate::stored::Stored for $name {
            fn put(&self, out: &mut $crate::stored::Out) {
                match self {
                    $(Self::$variant $(($($field),*))? => {
                        out.bytes(&[$number]);
                        $($($crate::stored::Stored::put($field, out);)*)?
                    })*
                }
            }

            fn get(from: &mut $crate::stored::In<'_>) -> Result<Self, $crate::stored::Damaged> {
                Ok(match from.byte()? {
                    $($number => {
                        $($(let $field = $crate::stored::Stored::get(from)?;)*)?
                        Self::$variant $(($($field),*))?
                    })*
                    _ => return Err($crate::stored::Damaged),
                })
            }
        }
    };
}
pub(crate) use stored;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, PartialEq, Debug)]
    struct Pair {
        name: Arc<str>,
        shape: Shape,
        list: Vec<(u16, String)>,
    }
    stored!(struct Pair { name, shape, list });

    #[derive(Clone, PartialEq, Debug)]
    enum Shape {
        Dot,
        Line(i64),
        Box(u8, f64),
    }
    stored!(enum Shape { 0 = Dot, 1 = Line(length), 7 = Box(kind, area) });

    type All = (Vec<Pair>, BTreeMap<u64, Arc<str>>, Option<bool>);

    fn bytes_of(value: &impl Stored) -> Vec<u8> {
        let mut out = Out::default();
        value.put(&mut out);
        out.finish()
    }

    fn read<T: Stored>(bytes: &[u8]) -> Result<T, Damaged> {
        let mut from = In::new(bytes)?;
        let value = T::get(&mut from)?;
        from.end()?;
        Ok(value)
    }

    fn shape() -> impl Strategy<Value = Shape> {
        let area = any::<u32>().prop_map(f64::from);
        prop_oneof![
            Just(Shape::Dot),
            any::<i64>().prop_map(Shape::Line),
            (any::<u8>(), area).prop_map(|(kind, area)| Shape::Box(kind, area))
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "heap", "\u{e4}", ""]), 0..3).prop_map(|parts| parts.concat())
    }

    fn pair() -> impl Strategy<Value = Pair> {
        let list = prop::collection::vec((any::<u16>(), text()), 0..4);
        (text(), shape(), list).prop_map(|(name, shape, list)| Pair { name: name.into(), shape, list })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_and_no_damage_panics(
            pairs in prop::collection::vec(pair(), 0..6), map in prop::collection::btree_map(any::<u64>(), text(), 0..4),
            flag in any::<Option<bool>>(), damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let map = map.into_iter().map(|(key, text)| (key, text.into())).collect();
            let all: All = (pairs, map, flag);
            let bytes = bytes_of(&all);
            prop_assert_eq!(read::<All>(&bytes), Ok(all));
            for length in 0..bytes.len() {
                prop_assert!(read::<All>(&bytes[..length]).is_err(), "cut at {}", length);
            }
            let mut damaged = bytes;
            for (at, byte) in damages {
                let at = at.index(damaged.len());
                damaged[at] = byte;
            }
            let _ = read::<All>(&damaged);
        }
    }

    #[test]
    fn equal_texts_are_one() {
        let bytes = bytes_of(&vec![Arc::<str>::from("same"); 3]);
        let texts: Vec<Arc<str>> = read(&bytes).unwrap();
        assert!(texts.iter().all(|text| Arc::ptr_eq(text, &texts[0])) && &*texts[0] == "same");
    }

    #[test]
    fn a_list_takes_no_more_memory_than_there_are_bytes() {
        assert_eq!(read::<Vec<u64>>(&bytes_of(&(u64::MAX, 1u64))), Err(Damaged));
        assert_eq!(read::<Vec<u64>>(&bytes_of(&(2u64, 1u64))), Err(Damaged));
        let often = vec!["x".repeat(1 << 20); 300];
        assert_eq!(read::<Vec<String>>(&bytes_of(&often)), Err(Damaged), "one text, and 300 MB of copies");
        assert_eq!(read::<Vec<String>>(&bytes_of(&often[..200].to_vec())).map(|texts| texts.len()), Ok(200));
    }
}
