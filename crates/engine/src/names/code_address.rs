//! Addresses of code, and where their names are looked up.
//!
//! Frames are return addresses, so the byte before is looked up: the call is there, and its line, even if the
//! function ends with the call. The innermost frame of a kernel stack is where the processor was, and is looked up as
//! it is; so is that of a processor sample, wherever it lies.

use crate::model::{Module, ProcessId, Trace};
use crate::units::Ticks;

/// First address of the kernel's half of the address space.
pub const KERNEL: u64 = 1 << 63;

/// The meaning of a frame's address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// The return address of a call: the frame called another one.
    Caller,
    /// The innermost frame in the stack of an event. In the kernel it is where the processor was; in user mode it is
    /// the return address of the code that writes the event, which is left out of the stack.
    Innermost,
    /// The innermost frame in the stack of a processor sample: where the processor was.
    Sampled,
}

impl FrameKind {
    /// The kind of a frame in the stack of an event.
    #[inline]
    pub fn in_event(is_innermost: bool) -> Self {
        if is_innermost { Self::Innermost } else { Self::Caller }
    }

    #[inline]
    fn is_return(self, address: u64) -> bool {
        match self {
            Self::Caller => true,
            Self::Innermost => address < KERNEL,
            Self::Sampled => false,
        }
    }
}

/// The address at which the name of a frame is looked up.
#[inline]
pub fn lookup_address(address: u64, kind: FrameKind) -> u64 {
    address.saturating_sub(u64::from(kind.is_return(address)))
}

/// An address of code in a process at a moment: everything that its name may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeAddress {
    /// The process that it belongs to.
    pub process: ProcessId,
    /// The address in the memory of the process.
    pub address: u64,
    /// The moment.
    pub at: Ticks,
    /// Whether it is a return address, so that the call before it is looked up.
    pub is_return: bool,
}

impl CodeAddress {
    /// The module that contains it, as [`Trace::module_at`] finds it.
    pub fn module<'t>(&self, trace: &'t Trace) -> Option<&'t Module> {
        trace.module_at(self.process, self.address, self.at)
    }

    /// The address to look up, from the module's base.
    pub fn rva(&self, module: &Module) -> Option<u32> {
        let rva = self.address.checked_sub(module.base)?.checked_sub(u64::from(self.is_return))?;
        u32::try_from(rva).ok()
    }
}
