//! Answers as lines of JSON, for readers that take an entry at a time: the first line is the object without its lists,
//! each further line an entry of one of them, whose key `list` says which.
//!
//! A list is named by its key, or as `layers.frames` if each entry of one list has another: then its lines have the keys
//! of the outer entry, too, which has no line of its own.
//!
//! Cost: the value is serialized once for the first line, without its lists, and once more for the lists. An entry at a
//! time is in memory, so lists that are generated while they are serialized never are.

use std::io::Write;

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::Error;

/// Writes an object as lines; `lists` names its lists.
pub fn write<W: Write + ?Sized>(out: &mut W, value: &impl Serialize, lists: &[&str]) -> Result<(), Error> {
    let head = object_without(value, lists)?;
    put(out, &[&head, b"\n"])?;
    value.serialize(Fields { out, lists, prefix: b"", part: Part::Lists })
}

/// The text of an object without its lists.
fn object_without(value: &(impl Serialize + ?Sized), lists: &[&str]) -> Result<Vec<u8>, Error> {
    let mut text = vec![b'{'];
    value.serialize(Fields { out: &mut text, lists, prefix: b"", part: Part::Others })?;
    text.push(b'}');
    Ok(text)
}

fn put<W: Write + ?Sized>(out: &mut W, parts: &[&[u8]]) -> Result<(), Error> {
    parts.iter().try_for_each(|part| out.write_all(part)).map_err(Error::io)
}

/// Which fields of an object are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The lists, as lines.
    Lists,
    /// The other fields, with commas between them.
    Others,
}

/// Writes a part of an object's fields.
struct Fields<'a, W: ?Sized> {
    out: &'a mut W,
    lists: &'a [&'a str],
    /// Fields that all lines of lists have, each with a comma before it.
    prefix: &'a [u8],
    part: Part,
}

/// The fields of an object while they are written.
struct Object<'a, W: ?Sized> {
    fields: Fields<'a, W>,
    is_first: bool,
    /// A key whose value comes next.
    key: Option<String>,
}

impl<W: Write + ?Sized> Object<'_, W> {
    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        let Fields { out, lists, prefix, part } = &mut self.fields;
        let inner = |name: &&&str| name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        match (lists.iter().find(inner), *part) {
            (None, Part::Others) => {
                let comma: &[u8] = if std::mem::take(&mut self.is_first) { b"" } else { b"," };
                put(*out, &[comma, &serde_json::to_vec(key)?, b":"])?;
                serde_json::to_writer(&mut **out, value)
            }
            (Some(name), Part::Lists) => {
                let inner = name.strip_prefix(key).and_then(|rest| rest.strip_prefix('.'));
                value.serialize(Entries { out: &mut **out, name: key, inner, prefix })
            }
            _ => Ok(()),
        }
    }
}

impl<W: Write + ?Sized> SerializeStruct for Object<'_, W> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl<W: Write + ?Sized> SerializeMap for Object<'_, W> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let key = serde_json::to_value(key)?;
        self.key = key.as_str().map(str::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().ok_or_else(|| Error::custom("a key is no text"))?;
        self.field(&key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Writes the entries of a list as lines.
struct Entries<'a, W: ?Sized> {
    out: &'a mut W,
    name: &'a str,
    /// The list in each entry whose entries have the lines.
    inner: Option<&'a str>,
    prefix: &'a [u8],
}

impl<W: Write + ?Sized> Entries<'_, W> {
    fn entry<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Self { out, name, inner, prefix } = self;
        if let Some(inner) = inner {
            let lists = &[*inner][..];
            let around = object_without(value, lists)?;
            // The fields without their braces.
            let around = &around[1..around.len() - 1];
            let comma: &[u8] = if around.is_empty() { b"" } else { b"," };
            let prefix = [prefix, comma, around].concat();
            return value.serialize(Fields { out: &mut **out, lists, prefix: &prefix, part: Part::Lists });
        }
        let text = serde_json::to_vec(value)?;
        put(*out, &[b"{\"list\":", &serde_json::to_vec(name)?, prefix])?;
        match text.as_slice() {
            b"{}" => put(*out, &[b"}\n"]),
            [b'{', fields @ ..] => put(*out, &[b",", fields, b"\n"]),
            other => put(*out, &[b",\"value\":", other, b"}\n"]),
        }
    }
}

impl<W: Write + ?Sized> SerializeSeq for Entries<'_, W> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.entry(value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The methods of a serializer that takes no values of these kinds.
macro_rules! refuse {
    ($why:literal: $($method:ident($($kind:ty),*) -> $done:ty;)*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<$done, Error> {
            Err(Error::custom($why))
        })*
    };
}

/// The methods for values that are neither objects nor lists.
macro_rules! refuse_scalars {
    ($why:literal) => {
        refuse! { $why:
            serialize_bool(bool) -> ();
            serialize_i8(i8) -> ();
            serialize_i16(i16) -> ();
            serialize_i32(i32) -> ();
            serialize_i64(i64) -> ();
            serialize_u8(u8) -> ();
            serialize_u16(u16) -> ();
            serialize_u32(u32) -> ();
            serialize_u64(u64) -> ();
            serialize_f32(f32) -> ();
            serialize_f64(f64) -> ();
            serialize_char(char) -> ();
            serialize_str(&str) -> ();
            serialize_bytes(&[u8]) -> ();
            serialize_unit_struct(&'static str) -> ();
            serialize_unit_variant(&'static str, u32, &'static str) -> ();
            serialize_tuple(usize) -> Self::SerializeTuple;
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
            value.serialize(self)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<(), Error> {
            Err(Error::custom($why))
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
            value.serialize(self)
        }
    };
}

impl<'a, W: Write + ?Sized> Serializer for Fields<'a, W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Object<'a, W>;
    type SerializeStruct = Object<'a, W>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a, W>, Error> {
        Ok(Object { fields: self, is_first: true, key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a, W>, Error> {
        self.serialize_map(None)
    }

    refuse_scalars!("lines of JSON need an object");
    refuse! { "lines of JSON need an object":
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
    }
}

impl<W: Write + ?Sized> Serializer for Entries<'_, W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }

    /// A list that the answer does not have.
    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    refuse_scalars!("this field is no list");
    refuse! { "this field is no list":
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Answer {
        schema: &'static str,
        groups: Vec<Group>,
        #[serde(skip_serializing_if = "Option::is_none")]
        files: Option<Vec<&'static str>>,
        doubts: Vec<&'static str>,
    }

    #[derive(Serialize)]
    struct Group {
        name: &'static str,
        frames: Vec<u32>,
    }

    #[derive(Serialize)]
    struct OfFiles<'a> {
        capture: &'a str,
        #[serde(flatten)]
        answer: &'a Answer,
    }

    fn lines(value: &impl Serialize, lists: &[&str]) -> Result<String, Error> {
        let mut out = Vec::new();
        write(&mut out, value, lists)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn answer() -> Answer {
        let group = |name, frames: &[u32]| Group { name, frames: frames.to_vec() };
        Answer { schema: "a/1", groups: vec![group("x\n", &[1]), group("y", &[2, 3])], files: None, doubts: vec!["d"] }
    }

    #[test]
    fn the_first_line_is_the_object_and_each_entry_has_its_own() {
        let told = lines(&answer(), &["groups", "none"]).unwrap();
        let expected = "{\"schema\":\"a/1\",\"doubts\":[\"d\"]}\n{\"list\":\"groups\",\"name\":\"x\\n\",\"frames\":[1]}\n\
                        {\"list\":\"groups\",\"name\":\"y\",\"frames\":[2,3]}\n";
        assert_eq!(told, expected);
        // Also where it is a part of another object.
        let told = lines(&OfFiles { capture: "c", answer: &answer() }, &["groups"]).unwrap();
        assert!(told.starts_with("{\"capture\":\"c\",\"schema\":\"a/1\",\"doubts\":[\"d\"]}\n{\"list\":\"groups\","), "{told}");
    }

    #[test]
    fn entries_of_lists_in_lists_have_the_keys_around_them() {
        let told = lines(&answer(), &["groups.frames", "doubts"]).unwrap();
        let expected = "{\"schema\":\"a/1\"}\n{\"list\":\"frames\",\"name\":\"x\\n\",\"value\":1}\n\
                        {\"list\":\"frames\",\"name\":\"y\",\"value\":2}\n{\"list\":\"frames\",\"name\":\"y\",\"value\":3}\n\
                        {\"list\":\"doubts\",\"value\":\"d\"}\n";
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_object_or_no_list_is_an_error() {
        assert!(lines(&[1, 2], &[]).is_err() && lines(&"text", &[]).is_err());
        assert!(lines(&answer(), &["schema"]).is_err());
    }
}
