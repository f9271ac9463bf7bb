//! Looks up the sites of rows whose stack came with their event.

use super::Attach;
use super::framed::{Framed, FramedRow};
use super::sites::SiteKey;
use crate::events::Frames;
use crate::model::origin::Origin;
use crate::model::stack::{SiteUser, WholePlace};
use crate::model::{HeapId, RowId, SiteId};
use crate::units::Ticks;

/// Most rows that wait.
const TOGETHER: usize = 128;

impl Attach {
    /// Makes a row wait for its site; the heap's own process allocates it.
    pub(super) fn await_site(&mut self, from: Origin, row: RowId, heap: HeapId, frames: Frames<'_>) {
        let frames = self.framed.frames.push_known(frames);
        self.framed.rows.push(FramedRow { row, heap, birth: from.time, frames });
        if self.framed.rows.len() >= TOGETHER {
            self.settle_framed();
        }
    }

    /// Sets the sites of all rows that wait.
    pub(in crate::model) fn settle_framed(&mut self) {
        if self.framed.rows.is_empty() {
            return;
        }
        let mut framed = std::mem::take(&mut self.framed);
        let Framed { rows, frames } = &mut framed;
        // All look-ups are begun before the first is needed.
        let place = |row: &FramedRow| self.stacks.place_of_whole(frames.get(row.frames).stack_hash());
        let places: Vec<WholePlace> = rows.iter().map(place).collect();
        for (FramedRow { row, heap, birth, frames: range }, place) in rows.drain(..).zip(places) {
            let (user, frames) = (SiteUser::allocating(heap), frames.get(range));
            let known = self.stacks.site_of_whole(place, frames.stack_hash(), user);
            let site = known.unwrap_or_else(|| self.framed_site(user, frames, birth));
            self.row_sites.set(row, site);
        }
        framed.frames.clear();
        self.framed = framed;
    }

    /// The site of frames that allocate, or free, in a heap, first at this moment.
    #[inline(never)]
    pub(super) fn framed_site(&mut self, user: SiteUser, frames: Frames<'_>, first: Ticks) -> SiteId {
        let caller = self.owner(user.heap());
        let Self { stacks, sites, frees, .. } = self;
        let sites = if user.frees() { &mut frees.sites } else { sites };
        let whole = stacks.whole(frames);
        if let Some(site) = whole.sites.of(user) {
            return site;
        }
        let site = sites.intern(SiteKey { heap: user.heap(), stack: whole.stack(), caller }, first);
        whole.sites.add(user, site);
        site
    }
}
