//! StackWalk payloads and the data of stack items; layouts as in the reader's `stack`.

use super::Payload;
use crate::units::{Pid, Tid};

/// A stack, or a reference to a key if `words` is just the key.
pub fn stack(out: &mut Payload, owner: i64, pid: Pid, tid: Tid, words: &[u64]) {
    out.u64(owner as u64).u32(pid.0).u32(tid.0).words(words);
}

/// A key and the frames for which it stands.
pub fn definition(out: &mut Payload, key: u64, frames: &[u64]) {
    out.word(key).words(frames);
}

/// A stack that is stored inside its event.
#[derive(Clone, Copy, Debug)]
pub enum InlineStack<'a> {
    /// Return addresses, innermost first.
    Frames(&'a [u64]),
    /// Key that a definition resolves.
    Key(u64),
}

/// Data of the extended item. `match_id` links the kernel's part; 0 if there is none.
pub fn item(out: &mut Payload, match_id: u64, stack: InlineStack<'_>) {
    out.u64(match_id);
    match stack {
        InlineStack::Frames(frames) => out.words(frames),
        InlineStack::Key(key) if out.is_narrow() => out.u32(key as u32).u32(0),
        InlineStack::Key(key) => out.u64(key),
    };
}
