//! Asks Windows. Only tried with a simulated ETW (`tests/etw`): that Windows opens our files, and what TdhGetEventInformation
//! answers about an event without payload, is unverified; a failure of either means that names are missing.

mod reader;
mod tdh;

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use ferrisetw::native::DecodingSource;
use ferrisetw::{EventRecord, SchemaLocator};

use crate::answers::{Answers, Names};
use crate::etl::Guid;
use crate::events::{Described, EventKey, UndescribedKind};
use crate::kinds_trace;

/// Describes these kinds of events by the manifests that are installed. Blocks until Windows has read a tiny file.
pub fn describe(kinds: &[UndescribedKind]) -> Described {
    if kinds.is_empty() {
        return Described::default();
    }
    let answers = Arc::new(Mutex::new(Answers::about(kinds)));
    let read = ask(kinds, Arc::clone(&answers));
    // What came before a failure holds. A reader that was left behind may still hold the lock.
    let answers = match answers.try_lock() {
        Ok(mut answers) => std::mem::take(&mut *answers),
        Err(TryLockError::Poisoned(poisoned)) => std::mem::take(&mut *poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Answers::default(),
    };
    answers.finish(read.err())
}

/// Number of events in a file as Windows reads it, its header event included.
pub fn count_events(path: &Path) -> Result<u64, String> {
    reader::read(path, |_, _| {})
}

fn ask(kinds: &[UndescribedKind], answers: Arc<Mutex<Answers>>) -> Result<(), String> {
    let failed = |reason: &dyn std::fmt::Display| format!("a temporary file could not be written: {reason}");
    let folder = tempfile::Builder::new().prefix("highwater-manifests").tempdir().map_err(|reason| failed(&reason))?;
    let path = folder.path().join("kinds.etl");
    let file = File::create_new(&path).map_err(|reason| failed(&reason))?;
    drop(kinds_trace::write(kinds, file).map_err(|reason| failed(&reason))?);
    let seen = reader::read(&path, move |record, locator| {
        take(&mut answers.lock().unwrap_or_else(PoisonError::into_inner), record, locator);
    })?;
    // The header is an event, too.
    let expected = kinds.len() as u64 + 1;
    if seen < expected { Err(format!("Windows read {seen} of {expected} events of a temporary file")) } else { Ok(()) }
}

/// Takes what Windows knows of an event, if it is one that was asked about.
fn take(answers: &mut Answers, record: &EventRecord, locator: &SchemaLocator) {
    let key = key_of(record);
    if !answers.wants(key) {
        return;
    }
    // An event without a manifest has no schema, which is no failure.
    let Ok(schema) = locator.event_schema(record) else { return };
    if !matches!(schema.decoding_source(), DecodingSource::DecodingSourceXMLFile) {
        return;
    }
    let names = Names { provider: schema.provider_name(), task: schema.task_name(), opcode: schema.opcode_name() };
    answers.take(key, &names, tdh::event_information(record).ok());
}

fn key_of(record: &EventRecord) -> EventKey {
    let ferrisetw::GUID { data1, data2, data3, data4 } = record.provider_id();
    (Guid::new(data1, data2, data3, data4), record.event_id(), record.version())
}
