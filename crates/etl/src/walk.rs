//! The walk along the chain of buffer sizes: finds what stands at a place of a file. It reads headers
//! only (one small read a buffer), keeps nothing and reports nothing; its caller decides what a find
//! means ([`super::index`]).

use super::header::session_header;
use super::{BUFFER_HEADER, BufferInfo, BufferKind, Expandable, SessionHeader, Source};

/// Number of buffers behind the first that tell whether all have its size.
pub(super) const LOOK_AT: u64 = 3;

/// The first `bytes` bytes of a file.
#[derive(Clone, Copy)]
pub(super) struct Walker<'a> {
    pub(super) source: &'a Source,
    pub(super) bytes: u64,
    /// Header of its first session.
    pub(super) first: &'a SessionHeader,
    /// Limit on the expanded size of its compressed buffers.
    pub(super) expandable: Expandable,
}

/// Contents of the file at some place.
pub(super) enum Stands {
    Buffer(BufferInfo),
    /// No buffer header.
    Other {
        zeros: bool,
        /// There are fewer bytes than a header has.
        short: bool,
    },
}

/// Whether the size that a buffer claims is believed.
pub(super) enum Credible {
    /// Its claim is right.
    Own,
    /// Its claim is right, and all that follow have this size: a session begins.
    OfSession,
    /// The other buffers are right: it has their size.
    Usual(u64),
}

/// A place without a buffer where one is due.
pub(super) struct Gap {
    /// Offset of the next buffer.
    pub(super) next: Option<u64>,
    /// Whether none of the places looked at had anything but zeros.
    pub(super) zeros: bool,
}

impl Walker<'_> {
    pub(super) fn look(&self, offset: u64) -> Stands {
        let mut head = [0; BUFFER_HEADER];
        let n = self.source.read_at(&mut head, offset).unwrap_or(0);
        Self::stands(&head[..n], offset)
    }

    /// Contents of a place in the file that begins with these bytes.
    pub(super) fn stands(head: &[u8], offset: u64) -> Stands {
        match BufferInfo::parse(head, offset) {
            Some(info) => Stands::Buffer(info),
            None => Stands::Other { zeros: head.iter().all(|&byte| byte == 0), short: head.len() < BUFFER_HEADER },
        }
    }

    fn size_at(&self, offset: u64) -> Option<u64> {
        match self.look(offset) {
            Stands::Buffer(info) => Some(info.size.into()),
            Stands::Other { .. } => None,
        }
    }

    /// The size of an uncompressed file's buffers: that of the first, unless the next
    /// ones show that they differ. (One that differs may be damaged.)
    pub(super) fn common_size(&self) -> Option<u64> {
        let size = self.size_at(0)?;
        let (mut same, mut differ) = (false, false);
        for next in (1..=LOOK_AT).map(|i| self.size_at(i * size)) {
            same |= next == Some(size);
            differ |= next.is_some_and(|next| next != size);
        }
        (!self.first.is_compressed() && (same || !differ)).then_some(size)
    }

    /// Whether enough of the file is there to be sure of the common size.
    pub(super) fn is_common_size_sure(&self) -> Option<bool> {
        let size = self.size_at(0)?;
        Some(self.bytes >= LOOK_AT * size + BUFFER_HEADER as u64)
    }

    /// Whether all of a buffer is there, and if its size is unusual, also the next header, which tells
    /// whether that size can be right.
    pub(super) fn has_all_of(&self, info: &BufferInfo, usual: Option<u64>) -> bool {
        let size = u64::from(info.size);
        let needed = match usual {
            Some(usual) if size != usual && !info.is_compressed() => size.max(usual) + BUFFER_HEADER as u64,
            _ => size,
        };
        needed <= self.bytes.saturating_sub(info.offset)
    }

    /// Whether to believe the size that a buffer claims, where the others have a usual one.
    pub(super) fn credible_size(&self, info: &BufferInfo, usual: Option<u64>) -> Credible {
        let (Some(usual), size) = (usual, u64::from(info.size)) else { return Credible::Own };
        if size == usual || info.is_compressed() {
            return Credible::Own;
        }
        let next = |size: u64| self.size_at(info.offset + size);
        // A session that was appended may have buffers of a size of its own.
        if info.kind == BufferKind::Header && (next(size) == Some(size) || info.offset + size == self.bytes) {
            return Credible::OfSession;
        }
        if next(size) == Some(usual) && next(usual) != Some(usual) {
            return Credible::Own;
        }
        Credible::Usual(usual)
    }

    /// Looks for the next buffer behind a place without one.
    pub(super) fn gap(&self, offset: u64, usual: Option<u64>, mut zeros: bool) -> Gap {
        let mut next = offset;
        while let Some(usual) = usual {
            next += usual;
            if next >= self.bytes {
                break;
            }
            match self.look(next) {
                Stands::Buffer(_) => return Gap { next: Some(next), zeros },
                Stands::Other { zeros: also, .. } => zeros &= also,
            }
        }
        Gap { next: None, zeros }
    }

    /// Whether there are only zeros from `offset` on.
    pub(super) fn is_zeros_from(&self, mut offset: u64) -> bool {
        let mut chunk = vec![0; 1 << 20];
        while offset < self.bytes {
            match self.source.read_at(&mut chunk, offset) {
                Ok(0) => return true,
                Ok(n) if chunk[..n].iter().all(|&byte| byte == 0) => offset += n as u64,
                _ => return false,
            }
        }
        true
    }

    /// The session header event at the start of a header buffer.
    pub(super) fn session_at(&self, info: &BufferInfo) -> Option<SessionHeader> {
        // The two names in it have at most 1024 characters.
        let mut head = vec![0; (info.size as usize).min(8 << 10)];
        let n = self.source.read_at(&mut head, info.offset).ok()?;
        session_header(&head[..n])
    }
}
