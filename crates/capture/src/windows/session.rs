//! An ETW session: started, queried, stopped.
//!
//! The bytes of its properties come from [`properties`](crate::properties); this module only makes the system
//! calls. Sessions outlive their process, so dropping one stops it, and [`running`] finds those of processes that did
//! not get that far. A session is never updated: EnableFlags in an update are for system loggers only, and Windows adds
//! buffers by itself, up to the maximum given at the start.
//!
//! Sources: Microsoft's pages of StartTrace, ControlTrace, EnableTraceEx2, QueryAllTraces and TraceSetInformation.
#![allow(unsafe_code, reason = "ETW's interface are C functions; each call says why it is sound")]

use std::ptr;

use windows_sys::Win32::Foundation::{
    ERROR_ACTIVE_CONNECTIONS, ERROR_INVALID_PARAMETER, ERROR_MORE_DATA, ERROR_NOT_SUPPORTED, ERROR_WMI_INSTANCE_NOT_FOUND,
};
use windows_sys::Win32::System::Diagnostics::Etw::{
    CONTROLTRACE_HANDLE, ControlTraceW, ENABLE_TRACE_PARAMETERS, ENABLE_TRACE_PARAMETERS_VERSION_2,
    EVENT_CONTROL_CODE_CAPTURE_STATE, EVENT_CONTROL_CODE_ENABLE_PROVIDER, EVENT_ENABLE_PROPERTY_STACK_TRACE,
    EVENT_FILTER_DESCRIPTOR, EVENT_FILTER_TYPE_EVENT_ID, EVENT_FILTER_TYPE_PID, EVENT_TRACE_CONTROL, EVENT_TRACE_CONTROL_QUERY,
    EVENT_TRACE_CONTROL_STOP, EVENT_TRACE_PROPERTIES, EnableTraceEx2, QueryAllTracesW, StartTraceW, TRACE_QUERY_INFO_CLASS,
    TraceQueryInformation, TraceSetInformation, TraceStackTracingInfo, TraceSystemTraceEnableFlagsInfo,
};

use super::journal;
use super::record::windows_guid;
use super::refusal::Refusal;
use super::wide::{narrow, wide};
use crate::constants::MOST_SESSIONS;
use crate::etl::{Guid, u32_at};
use crate::properties::{Properties, Statistics, group_masks};
use crate::providers::{Wanted, id_filter, pid_filter};

/// A running session.
pub(super) struct Session {
    name: String,
    handle: CONTROLTRACE_HANDLE,
    is_stopped: bool,
}

impl Session {
    /// Starts a session.
    pub(super) fn start(name: &str, properties: &Properties) -> Result<Self, Refusal> {
        let handle = start(name, properties.clone())?;
        Ok(Self { name: name.to_owned(), handle, is_stopped: false })
    }

    /// Requests stacks for these kernel events (`CLASSIC_EVENT_ID`s), instead of those requested before. Too late once
    /// the events are enabled.
    pub(super) fn trace_stacks(&self, classic_ids: &[u8]) -> Result<(), Refusal> {
        self.set(TraceStackTracingInfo, classic_ids, "TraceSetInformation(TraceStackTracingInfo)")
    }

    /// Enables the kernel events of these flags, and no others.
    pub(super) fn enable_kernel(&self, flags: u32) -> Result<(), Refusal> {
        let masks: Vec<u8> = group_masks(flags).iter().flat_map(|mask| mask.to_le_bytes()).collect();
        self.set(TraceSystemTraceEnableFlagsInfo, &masks, "TraceSetInformation(TraceSystemTraceEnableFlagsInfo)")?;
        self.note_masks();
        Ok(())
    }

    /// Records in the journal which kernel events are enabled according to Windows, beside the requested ones.
    fn note_masks(&self) {
        if !journal::is_wanted() {
            return;
        }
        let mut masks = group_masks(0);
        let (size, mut written) = (size_of_val(&masks) as u32, 0);
        // SAFETY: the masks are ours and as long as is said, as is the place of the length.
        let code = unsafe {
            TraceQueryInformation(self.handle, TraceSystemTraceEnableFlagsInfo, masks.as_mut_ptr().cast(), size, &raw mut written)
        };
        let answer = (code == 0).then(|| masks.map(|mask| format!("{mask:#010x}")).join(" "));
        journal::note_answer("TraceQueryInformation(TraceSystemTraceEnableFlagsInfo)", &self.name, code, answer);
    }

    /// Enables a user-mode provider, or changes how it is enabled: for these running processes, or for all if the list
    /// is empty or too long for a filter.
    pub(super) fn enable_provider(&self, wanted: &Wanted, pids: &[u32]) -> Result<(), Refusal> {
        let of_processes = pid_filter(pids);
        let of_events = id_filter(&wanted.ids);
        let all = [(EVENT_FILTER_TYPE_PID, &of_processes), (EVENT_FILTER_TYPE_EVENT_ID, &of_events)];
        let filters: Vec<EVENT_FILTER_DESCRIPTOR> = all
            .into_iter()
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(kind, bytes)| EVENT_FILTER_DESCRIPTOR { Ptr: bytes.as_ptr() as u64, Size: bytes.len() as u32, Type: kind })
            .collect();
        match self.enable(wanted, &filters) {
            // Windows 8 has no such filters; unwanted events are then dropped by the consumer.
            Err(Refusal { code: ERROR_INVALID_PARAMETER | ERROR_NOT_SUPPORTED, .. })
                if !filters.is_empty() && wanted.may_lack_filters() =>
            {
                self.enable(wanted, &[])
            }
            other => other,
        }
    }

    /// Asks an enabled provider to report what holds now. If it does not, its changes say what held before them.
    pub(super) fn ask_for_state(&self, wanted: &Wanted) {
        _ = self.control(EVENT_CONTROL_CODE_CAPTURE_STATE, wanted, &[]);
    }

    fn enable(&self, wanted: &Wanted, filters: &[EVENT_FILTER_DESCRIPTOR]) -> Result<(), Refusal> {
        self.control(EVENT_CONTROL_CODE_ENABLE_PROVIDER, wanted, filters)
    }

    fn control(&self, code: u32, wanted: &Wanted, filters: &[EVENT_FILTER_DESCRIPTOR]) -> Result<(), Refusal> {
        let provider = windows_guid(wanted.provider);
        let parameters = ENABLE_TRACE_PARAMETERS {
            Version: ENABLE_TRACE_PARAMETERS_VERSION_2,
            EnableProperty: if wanted.stacks { EVENT_ENABLE_PROPERTY_STACK_TRACE } else { 0 },
            EnableFilterDesc: if filters.is_empty() { ptr::null_mut() } else { filters.as_ptr().cast_mut() },
            FilterDescCount: filters.len() as u32,
            ..ENABLE_TRACE_PARAMETERS::default()
        };
        // SAFETY: the identity, the parameters and the filters that they lead to, which are only
        // read, live until the call returns. Without a time to wait it returns at once.
        let code = unsafe {
            EnableTraceEx2(self.handle, &raw const provider, code, wanted.level, wanted.keywords, 0, 0, &raw const parameters)
        };
        journal::check("EnableTraceEx2", &self.name, code)
    }

    fn set(&self, class: TRACE_QUERY_INFO_CLASS, information: &[u8], call: &'static str) -> Result<(), Refusal> {
        // SAFETY: the length is that of the bytes, which live until the call returns and are
        // only read; both classes take plain numbers.
        let code = unsafe { TraceSetInformation(self.handle, class, information.as_ptr().cast(), information.len() as u32) };
        journal::check(call, &self.name, code)
    }

    /// Queries its losses and buffers.
    pub(super) fn query(&self) -> Result<Statistics, Refusal> {
        statistics(&self.name)
    }

    /// Stops the session. Its consumer still gets the events in the buffers. Not an error if it has ended already.
    pub(super) fn stop(&mut self) -> Result<(), Refusal> {
        if std::mem::replace(&mut self.is_stopped, true) { Ok(()) } else { stop(&self.name) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Queries the session of this name.
pub(super) fn statistics(name: &str) -> Result<Statistics, Refusal> {
    let mut answer = Properties::for_answer();
    control(name, &mut answer, EVENT_TRACE_CONTROL_QUERY, "ControlTraceW(QUERY)")?;
    Ok(answer.statistics())
}

/// Whether the session of this name may be running. Only a query that finds no session proves that it does not run; a
/// refused query means that it may run but that this process has no access.
pub(super) fn may_run(name: &str) -> bool {
    !matches!(statistics(name), Err(Refusal { code: ERROR_WMI_INSTANCE_NOT_FOUND, .. }))
}

/// Stops the session of this name, if there is one.
pub(super) fn stop(name: &str) -> Result<(), Refusal> {
    match control(name, &mut Properties::for_answer(), EVENT_TRACE_CONTROL_STOP, "ControlTraceW(STOP)") {
        // More data: the answer does not fit, but the session was stopped. Active connections: its consumers still get
        // the rest, and it is stopping.
        Err(Refusal { code: ERROR_WMI_INSTANCE_NOT_FOUND | ERROR_MORE_DATA | ERROR_ACTIVE_CONNECTIONS, .. }) => Ok(()),
        other => other,
    }
}

/// A session that runs on this machine, whoever started it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) guid: Guid,
}

/// All sessions that run on this machine.
pub(super) fn running() -> Result<Vec<Known>, Refusal> {
    let mut answers = vec![Properties::for_answer(); MOST_SESSIONS];
    let mut pointers: Vec<*mut EVENT_TRACE_PROPERTIES> = answers.iter_mut().map(|answer| answer.as_mut_ptr().cast()).collect();
    let mut count = 0;
    // SAFETY: there are as many pointers as are said to be, each to memory of its own that is
    // aligned for the structure and says how long it is.
    let code = unsafe { QueryAllTracesW(pointers.as_mut_ptr(), MOST_SESSIONS as u32, &raw mut count) };
    match journal::check("QueryAllTracesW", "", code) {
        Err(Refusal { code: ERROR_MORE_DATA, .. }) | Ok(()) => {}
        Err(refusal) => return Err(refusal),
    }
    let known = |answer: &Properties| Known { name: logger_name(answer.bytes()), guid: answer.guid() };
    Ok(answers.iter().take(count as usize).map(known).collect())
}

const NO_HANDLE: CONTROLTRACE_HANDLE = CONTROLTRACE_HANDLE { Value: 0 };

fn start(name: &str, mut properties: Properties) -> Result<CONTROLTRACE_HANDLE, Refusal> {
    let wide_name = wide(name);
    let mut handle = NO_HANDLE;
    // SAFETY: all three live until the call returns; the name ends with a zero; the properties
    // are aligned for the structure and say how long they are.
    let code = unsafe { StartTraceW(&raw mut handle, wide_name.as_ptr(), properties.as_mut_ptr().cast()) };
    journal::check("StartTraceW", name, code).map(|()| handle)
}

fn control(name: &str, properties: &mut Properties, control: EVENT_TRACE_CONTROL, call: &'static str) -> Result<(), Refusal> {
    let wide_name = wide(name);
    // SAFETY: the name ends with a zero, and outlives the call; the properties are aligned for
    // the structure and say how long they are.
    let code = unsafe { ControlTraceW(NO_HANDLE, wide_name.as_ptr(), properties.as_mut_ptr().cast(), control) };
    if control != EVENT_TRACE_CONTROL_QUERY || code != 0 {
        journal::note(call, name, code);
    }
    Refusal::check(call, code)
}

/// The session's name in an answer, at the offset that the answer gives.
fn logger_name(answer: &[u8]) -> String {
    const OFFSET: usize = std::mem::offset_of!(EVENT_TRACE_PROPERTIES, LoggerNameOffset);
    let offset = u32_at(answer, OFFSET).map_or(usize::MAX, |offset| offset as usize);
    let units = answer.get(offset..).unwrap_or_default().chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    narrow(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wherever_an_answer_puts_the_name_it_is_found() {
        for offset in [0x78_usize, 0x80, 0x101] {
            let mut answer = vec![0xEE; 0x200];
            answer[0x74..0x78].copy_from_slice(&(offset as u32).to_le_bytes());
            let name: Vec<u8> = wide("highwater-1-heap").into_iter().flat_map(u16::to_le_bytes).collect();
            answer[offset..offset + name.len()].copy_from_slice(&name);
            assert_eq!(logger_name(&answer), "highwater-1-heap");
        }
        assert_eq!(logger_name(&[0xFF; 0x80]), "");
        assert_eq!(logger_name(&[]), "");
    }
}
