//! The numbers of an interval by linear scans over all rows.

use highwater::query::{Bucket, By, Group, GroupNumbers, LifetimeBounds, ReportFilter};
use highwater::units::Layer;

use super::{FREQUENCY, Place, Replay, Row};

/// `[from, to)`, in ticks since the trace start.
pub type Edges = (i64, i64);

impl Row {
    pub fn layer(&self) -> Layer {
        match self.place {
            Place::Commit => Layer::Commit,
            Place::Heap(_) => Layer::Heap,
            Place::Tracker(_) => Layer::Tracker,
        }
    }

    /// Alive at `t`: born before it, and dead at `t` at the earliest.
    pub(super) fn is_outstanding(&self, t: i64) -> bool {
        self.birth < t && self.death.is_none_or(|f| f >= t)
    }

    /// `[2^k, 2^(k+1))` around its size.
    pub fn size_bucket(&self) -> [u64; 2] {
        let powers = (0..64).map(|k| [1u64 << k, 1u64.checked_shl(k + 1).unwrap_or(u64::MAX)]);
        [[0, 1]].into_iter().chain(powers).find(|[from, to]| (*from..*to).contains(&self.size)).unwrap()
    }

    /// Ticks that it lived, if both ends were seen.
    pub fn lifetime(&self) -> Option<i64> {
        self.death.filter(|_| self.birth != i64::MIN).map(|death| death - self.birth)
    }

    /// The decade of seconds around its lifetime.
    pub fn lifetime_bucket(&self) -> LifetimeBounds {
        let Some(ticks) = self.lifetime() else { return LifetimeBounds(0.0, None) };
        let decade = |k: i32| format!("1e{k}").parse::<f64>().unwrap();
        // The clock has 10 ticks a microsecond.
        let mut k = -6;
        let mut ten = 10i128;
        if i128::from(ticks) < ten {
            return LifetimeBounds(0.0, Some(decade(k)));
        }
        while i128::from(ticks) >= ten * 10 {
            (k, ten) = (k + 1, ten * 10);
        }
        LifetimeBounds(decade(k), Some(decade(k + 1)))
    }

    /// Index of its class (AIFI, AIFO, AOFI, AOFO), as the table of the contract reads.
    pub fn class(&self, (t0, t1): Edges) -> Option<usize> {
        let (a, f) = (self.birth, self.death);
        let dies_before = |t: i64| f.is_some_and(|f| f < t);
        if t0 <= a && a < t1 {
            return Some(if dies_before(t1) { 0 } else { 1 });
        }
        if a < t0 && !dies_before(t0) {
            // An empty interval has no inside in which anything could die.
            return if dies_before(t1) { Some(2) } else { Some(3) };
        }
        None
    }
}

/// What tells two groups apart.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    life: Option<usize>,
    layer: Layer,
    heap: Option<String>,
    stack: Option<Vec<u64>>,
    freed_stack: Option<Vec<u64>>,
    thread: Option<Option<u32>>,
    function: Option<String>,
    responsible: Option<String>,
    responsible_module: Option<String>,
    owner: Option<String>,
    size: Option<[u64; 2]>,
    lifetime: Option<LifetimeBounds>,
}

/// Who is responsible where nothing has a name: no address of the kernel, if there is another. No frame is in a module,
/// so it is its own module.
fn responsible(row: &Row) -> String {
    let own = row.stack.iter().find(|&&frame| frame < 1 << 63);
    own.or(row.stack.first()).map_or("(no stack)".to_owned(), |frame| format!("{frame:#x}"))
}

/// Who keeps it where nothing has a name.
fn owner(row: &Row) -> String {
    let owner = match row.place {
        Place::Heap(_) => "Windows heap",
        Place::Tracker(_) => "Trackers",
        Place::Commit if row.stack.is_empty() => "(no stack)",
        Place::Commit => "(no module)",
    };
    owner.to_owned()
}

impl Replay {
    pub fn heap_name(&self, row: &Row) -> Option<String> {
        match row.place {
            Place::Commit => None,
            Place::Heap(handle) => Some(format!("{handle:#x}")),
            Place::Tracker(i) => {
                let tracker = &self.trackers[i];
                Some(tracker.name.clone().unwrap_or_else(|| format!("{:#x}", tracker.handle)))
            }
        }
    }

    pub fn process_name(&self, row: &Row) -> String {
        let life = &self.lives[row.life];
        if life.name.is_empty() { format!("Unknown ({})", life.pid) } else { life.name.clone() }
    }

    pub(super) fn fits(&self, row: &Row, filter: &ReportFilter) -> bool {
        let lower = |s: &str| s.to_lowercase();
        let process = filter.process.as_ref().is_none_or(|wanted| {
            lower(wanted) == lower(&self.process_name(row)) || *wanted == self.lives[row.life].pid.to_string()
        });
        let heap =
            filter.heap.as_ref().is_none_or(|wanted| self.heap_name(row).is_some_and(|name| lower(&name) == lower(wanted)));
        process && heap && filter.layer.is_none_or(|layer| layer == row.layer())
    }

    /// The groups of a report, in its order.
    pub fn report(&self, edges: Edges, by: &[By], filter: &ReportFilter) -> Vec<Group> {
        let mut groups: Vec<(Key, Vec<&Row>)> = Vec::new();
        for row in self.rows.iter().filter(|row| self.fits(row, filter)) {
            let key = self.key(row, by);
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        let mut groups: Vec<Group> = groups
            .into_iter()
            .filter(|(_, rows)| rows.iter().any(|row| row.class(edges).is_some()))
            .map(|(key, rows)| self.group(&key, &rows, by, numbers(&rows, edges)))
            .collect();
        groups.sort_by(|a, b| {
            let rank = |g: &Group| (g.numbers.impacting_size.unsigned_abs(), g.numbers.size);
            rank(b).cmp(&rank(a)).then_with(|| key(a).partial_cmp(&key(b)).unwrap())
        });
        groups
    }

    /// What tells the group of a row from others.
    pub(super) fn key(&self, row: &Row, by: &[By]) -> Key {
        Key {
            life: by.contains(&By::Process).then_some(row.life),
            layer: row.layer(),
            heap: if by.contains(&By::Heap) { self.heap_name(row) } else { None },
            stack: by.contains(&By::Stack).then(|| row.stack.clone()),
            freed_stack: by.contains(&By::FreedStack).then(|| row.freed_stack.clone()),
            thread: by.contains(&By::Thread).then_some(row.thread),
            function: row.stack.first().filter(|_| by.contains(&By::Function)).map(|frame| format!("{frame:#x}")),
            responsible: by.contains(&By::Responsible).then(|| responsible(row)),
            responsible_module: by.contains(&By::ResponsibleModule).then(|| responsible(row)),
            owner: by.contains(&By::Owner).then(|| owner(row)),
            size: by.contains(&By::Size).then(|| row.size_bucket()),
            lifetime: by.contains(&By::Lifetime).then(|| row.lifetime_bucket()),
        }
    }

    pub(super) fn group<N>(&self, key: &Key, rows: &[&Row], by: &[By], numbers: N) -> Group<N> {
        let life = key.life.map(|life| &self.lives[life]);
        let outermost_first = |frames: &Vec<u64>| frames.iter().rev().map(|frame| format!("{frame:#x}")).collect();
        let stack = key.stack.as_ref().map(outermost_first);
        let freed_stack = key.freed_stack.as_ref().map(outermost_first);
        Group {
            process: rows.first().filter(|_| life.is_some()).map(|row| self.process_name(row)),
            pid: life.map(|life| life.pid),
            process_start_s: life.and_then(|life| life.start).map(|at| at as f64 / FREQUENCY as f64),
            layer: match key.layer {
                Layer::Commit => "commit",
                Layer::Heap => "heap",
                Layer::Tracker => "tracker",
            },
            heap: key.heap.clone(),
            stack,
            freed_stack,
            allocated_type: by.contains(&By::Type).then(|| "(unknown type)".to_owned()),
            thread: key.thread.flatten(),
            function: key.function.clone(),
            module: None,
            owner: key.owner.clone(),
            tag: by.contains(&By::Tag).then(|| "(no tag)".to_owned()),
            responsible: key.responsible.clone(),
            responsible_module: key.responsible_module.clone(),
            sources: None,
            // No frame is in a module.
            addresses: key.stack.as_ref().map(|frames| vec![None; frames.len()]),
            source: None,
            size_bucket: key.size,
            lifetime_bucket: key.lifetime,
            numbers,
        }
    }
}

/// What some rows come to.
pub fn numbers(rows: &[&Row], edges: Edges) -> GroupNumbers {
    let mut classes = [Bucket::default(); 4];
    for row in rows {
        if let Some(class) = row.class(edges) {
            classes[class].count += 1;
            classes[class].size += row.size;
        }
    }
    let [aifi, aifo, aofi, aofo] = classes;
    GroupNumbers {
        outstanding_from: outstanding(rows, edges.0),
        outstanding_to: outstanding(rows, edges.1),
        peak: peak(rows, edges),
        count: aifi.count + aifo.count + aofi.count + aofo.count,
        size: aifi.size + aifo.size + aofi.size + aofo.size,
        allocated_count: aifi.count + aifo.count,
        allocated_size: aifi.size + aifo.size,
        freed_count: aifi.count + aofi.count,
        freed_size: aifi.size + aofi.size,
        impacting_size: aifo.size as i64 - aofi.size as i64,
        aifi,
        aifo,
        aofi,
        aofo,
    }
}

/// Bytes of `rows` alive at `t`.
pub fn outstanding(rows: &[&Row], t: i64) -> u64 {
    rows.iter().filter(|row| row.is_outstanding(t)).map(|row| row.size).sum()
}

/// The largest outstanding size, looked at wherever it can change: at the edges,
/// and one tick after each birth and death.
pub fn peak(rows: &[&Row], (t0, t1): Edges) -> u64 {
    let changes = rows.iter().flat_map(|row| [Some(row.birth), row.death]).flatten();
    let moments = changes.filter(|t| (t0..t1).contains(t)).map(|t| t + 1).chain([t0, t1]);
    moments.map(|t| outstanding(rows, t)).max().unwrap_or(0)
}

pub(super) type SortKey = (Option<String>, Option<u32>, f64, &'static str, Option<String>, Stacks, RowSortKey, NameSortKey);
type Stacks = [Option<Vec<String>>; 2];
type RowSortKey = (Option<u32>, Option<[u64; 2]>, Option<(bool, f64)>);
type NameSortKey = [Option<String>; 4];

pub(super) fn key<N>(g: &Group<N>) -> SortKey {
    let start = g.process_start_s.unwrap_or(f64::NEG_INFINITY);
    let lifetime = g.lifetime_bucket.map(|LifetimeBounds(from, to)| (to.is_none(), from));
    let of_rows = (g.thread, g.size_bucket, lifetime);
    (
        g.process.clone(),
        g.pid,
        start,
        g.layer,
        g.heap.clone(),
        [g.stack.clone(), g.freed_stack.clone()],
        of_rows,
        [g.function.clone(), g.responsible.clone(), g.responsible_module.clone(), g.owner.clone()],
    )
}
