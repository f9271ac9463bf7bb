//! A list that is generated while it is written, so it is never in memory.

use std::cell::RefCell;
use std::marker::PhantomData;

use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};

use super::ExportError;
use highwater_engine::ndjson;

/// The function that takes the next item.
pub(super) type Take<'t, T> = &'t mut dyn FnMut(T) -> Result<(), ExportError>;

/// A list that `tell` generates while it is serialized. An error of `tell`, other than that of writing, is kept in
/// `stopped`.
pub(super) struct Streamed<'a, T, F> {
    tell: F,
    stopped: &'a RefCell<Option<ExportError>>,
    items: PhantomData<fn(T)>,
}

impl<'a, T: Serialize, F: Fn(Take<'_, T>) -> Result<(), ExportError>> Streamed<'a, T, F> {
    pub(super) fn new(stopped: &'a RefCell<Option<ExportError>>, tell: F) -> Self {
        Self { tell, stopped, items: PhantomData }
    }
}

impl<T: Serialize, F: Fn(Take<'_, T>) -> Result<(), ExportError>> Serialize for Streamed<'_, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut failed = None;
        let told = (self.tell)(&mut |item: T| {
            list.serialize_element(&item).map_err(|error| {
                failed = Some(error);
                ExportError::Stopped
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Err(error) = told {
            *self.stopped.borrow_mut() = Some(error);
            return Err(S::Error::custom("stopped"));
        }
        list.end()
    }
}

/// Writes a value that contains such lists as one line of JSON; with `lists`, which names its lists, as lines.
pub(super) fn write(
    out: &mut dyn std::io::Write,
    value: &impl Serialize,
    lists: Option<&[&str]>,
    stopped: &RefCell<Option<ExportError>>,
) -> Result<(), ExportError> {
    let written = match lists {
        None => serde_json::to_writer(&mut *out, value),
        Some(lists) => ndjson::write(out, value, lists),
    };
    if let Some(error) = stopped.take() {
        return Err(error);
    }
    written?;
    if lists.is_none() {
        out.write_all(b"\n")?;
    }
    Ok(())
}
