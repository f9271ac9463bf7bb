//! Finds the process or thread that a kernel event is about, for code that passes events on and keeps
//! nothing of them.
//!
//! Events that are about no process are listed, as the others are: an event of a kind that is not known here has no
//! owner, and who may pass on only events of some processes does not pass it on.
//!
//! Cost: a look at the hook and at a few fields; of process events the whole payload is decoded.

use std::ops::Range;

use super::hooks::{class, hook, kernel_hook};
use super::{CommittedRegion, Event, PageRange, Record, activity, memory, system};
use crate::etl::write::NewEvent;
use crate::etl::{EventId, Extended, Guid, RawEvent, i64_at, u32_at};
use crate::units::{Pid, Tid};

/// The hook between the start of a thread and its rundown.
const THREAD_END: u16 = hook::THREAD_START + 1;

/// The subject of an event.
#[derive(Clone, PartialEq, Debug)]
pub enum EventOwner {
    /// It is about a process: the record has an [`Event::Process`].
    Process(Record),
    /// It is about the process that had this id, has ended, and is still open somewhere.
    DefunctProcess(Pid),
    /// Pages or views of this process are allocated or freed, or were there before the trace.
    Pages(Pid),
    /// A thread of a process runs or has ended.
    Thread {
        /// Its process.
        pid: Pid,
        /// Its id.
        tid: Tid,
        /// Whether it has ended.
        has_ended: bool,
    },
    /// A thread of this process has a name.
    ThreadName(Pid),
    /// An image is mapped, or was unmapped.
    Image {
        /// Its process; images of the kernel are in the first few processes.
        pid: Pid,
        /// Its first byte.
        base: u64,
    },
    /// A processor ran this thread; 0 if it was idle.
    Sample(Tid),
    /// A thread had a page fault; the thread is not known if only the stack of the fault names it.
    Fault(Tid),
    /// A call stack, a part of one, or the key of one.
    Stack {
        /// Raw time of the event it belongs to.
        owner: i64,
        /// Process of the stack.
        pid: Pid,
        /// Thread of the stack.
        tid: Tid,
    },
    /// The machine, the session, other events, or all processes at once.
    Everybody,
}

/// Whether an event that gives no record describes the machine, the session or other events.
pub fn describes(id: EventId) -> bool {
    /// Kernel group 00.
    const SESSION: Guid = Guid::new(0x68FDD900, 0x4A3E, 0x11D1, [0x84, 0xF4, 0x00, 0x00, 0xF8, 0x04, 0x64, 0xE3]);
    /// Kernel group 0B.
    const CONFIGURATION: Guid = Guid::new(0x01853A65, 0x418F, 0x4F36, [0xAE, 0xFC, 0xDC, 0x0F, 0x1D, 0x2F, 0xD2, 0x35]);
    match id {
        EventId::Hook(hook) => matches!(hook >> 8, 0x00 | 0x0B),
        EventId::Class { class, .. } => {
            [SESSION, CONFIGURATION, class::SYSTEM_CONFIG_EX, class::IMAGE_ID, class::EVENT_METADATA].contains(&class)
        }
        EventId::Provider { provider, .. } => provider == class::EVENT_METADATA,
        EventId::Opaque => false,
    }
}

/// The subject of an event; `None` for kinds that are not known, and for events that cannot be read.
pub fn event_owner(event: &NewEvent<'_>) -> Option<EventOwner> {
    let Some(hook) = kernel_hook(event.id) else {
        let is_loss = matches!(event.id, EventId::Class { class: class::LOST_EVENT, .. });
        return (is_loss || describes(event.id)).then_some(EventOwner::Everybody);
    };
    match hook {
        hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START => match memory::pages(hook, &raw(event))? {
            Event::VirtualAlloc(PageRange { owner, .. })
            | Event::VirtualFree(PageRange { owner, .. })
            | Event::CommitRundown(CommittedRegion { owner, .. }) => Some(EventOwner::Pages(owner)),
            _ => None,
        },
        hook::VIEW_MAP..=hook::VIEW_RUNDOWN_END => Some(EventOwner::Pages(activity::kernel(hook, &raw(event))?.pid)),
        hook::STACK | hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER => {
            let owner = i64_at(event.payload, 0)?;
            Some(EventOwner::Stack { owner, pid: Pid(u32_at(event.payload, 8)?), tid: Tid(u32_at(event.payload, 12)?) })
        }
        hook::TRANSITION_FAULT..=hook::ACCESS_VIOLATION | hook::HARD_FAULT => {
            Some(EventOwner::Fault(activity::fault(hook, &raw(event))?.tid))
        }
        hook::SAMPLE => Some(EventOwner::Sample(activity::sample(&raw(event))?.tid)),
        hook::THREAD_START..=hook::THREAD_RUNDOWN_END => Some(EventOwner::Thread {
            pid: Pid(u32_at(event.payload, 0)?),
            tid: Tid(u32_at(event.payload, 4)?),
            has_ended: hook == THREAD_END,
        }),
        hook::THREAD_SET_NAME => Some(EventOwner::ThreadName(Pid(u32_at(event.payload, 0)?))),
        hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END => system::process(hook, &raw(event)).map(EventOwner::Process),
        hook::PROCESS_DEFUNCT => system::process(hook, &raw(event)).map(|record| EventOwner::DefunctProcess(record.pid)),
        hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END => {
            let (pid, base) = system::image_base(&raw(event))?;
            Some(EventOwner::Image { pid, base })
        }
        hook::STACK_KEY_CREATE..=hook::STACK_KEY_RUNDOWN
        | hook::MEM_INFO
        | hook::MEM_INFO_WS
        | hook::MARK
        | hook::SAMPLE_INTERVAL
        | hook::SAMPLE_INTERVAL_START => Some(EventOwner::Everybody),
        _ => describes(event.id).then_some(EventOwner::Everybody),
    }
}

/// Range of the command line in the payload of a process event, with the zero behind it.
pub fn command_line(event: &NewEvent<'_>) -> Option<Range<usize>> {
    system::command_line(&raw(event))
}

/// Converts it to the form of an event that was read; the payloads looked at here have no extended
/// items.
fn raw<'a>(event: &NewEvent<'a>) -> RawEvent<'a> {
    let NewEvent { time, kind, pointer, pid, tid, id, version, payload, .. } = *event;
    RawEvent { kind, pointer, time, pid, tid, id, version, extended: Extended::default(), payload, offset: 0 }
}
