use proptest::prelude::*;

use super::super::Because;
use super::*;

const PIDS: u32 = 6;

/// One thing that happens, or does not where it cannot.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A process begins; whether it ran before the recording, so that nothing starts it.
    Create { pid: u32, parent: u32, name: usize, ran_before: bool },
    /// Its start event, or the rundown of one that ran before; or another rundown.
    Announce(u32),
    /// Its end.
    End(u32),
    /// Its end is lost, and its id is used again at once.
    Replace { pid: u32, parent: u32, name: usize },
    /// Pages, allocated by a thread of a process in a process; with so many parts of a stack.
    Pages { owner: u32, caller: u32, thread: u32, stacks: usize },
    /// One of the stacks that are still to come.
    Stack(prop::sample::Index),
    /// An event of another kind.
    Other(u32),
    /// A thread of a process is told of.
    Thread { pid: u32, thread: u32 },
    /// A processor ran it; or was idle, if no process has the id.
    Sample { pid: u32, thread: u32 },
    /// Somebody tells an id.
    Follow(u32),
}

const NAMES: [&str; 3] = ["game.exe", "Game.EXE", "other.exe"];

fn step() -> impl Strategy<Value = Step> {
    let pid = || 1..=PIDS;
    let pages = |owner: u32, caller: u32, is_own: bool| (owner, if is_own { owner } else { caller });
    prop_oneof![
        3 => (pid(), pid(), 0..3usize, prop::bool::weighted(0.3))
            .prop_map(|(pid, parent, name, ran_before)| Step::Create { pid, parent, name, ran_before }),
        3 => pid().prop_map(Step::Announce),
        2 => pid().prop_map(Step::End),
        1 => (pid(), pid(), 0..3usize).prop_map(|(pid, parent, name)| Step::Replace { pid, parent, name }),
        6 => ((pid(), pid(), prop::bool::weighted(0.7)).prop_map(move |(owner, caller, own)| pages(owner, caller, own)), 0..2u32, 0..3usize)
            .prop_map(|((owner, caller), thread, stacks)| Step::Pages { owner, caller, thread, stacks }),
        6 => any::<prop::sample::Index>().prop_map(Step::Stack),
        1 => pid().prop_map(Step::Other),
        2 => (pid(), 0..2u32).prop_map(|(pid, thread)| Step::Thread { pid, thread }),
        3 => (0..=PIDS, 0..2u32).prop_map(|(pid, thread)| Step::Sample { pid, thread }),
        1 => pid().prop_map(Step::Follow),
    ]
}

/// A process as it truly was.
#[derive(Clone, Debug)]
struct Life {
    pid: u32,
    info: ProcessInfo,
    ran_before: bool,
    is_over: bool,
    is_named: bool,
    /// Since when it is followed; `Some(None)` if it is known that it is not.
    followed: Option<Option<i64>>,
}

/// What is still to be judged, and passed on or dropped.
#[derive(Clone, Copy, Debug)]
enum About {
    /// Pages of this life, or their stack, of an event at that time.
    Life(usize, i64),
    /// A thread of this life ran then.
    Sample(usize, i64, u32),
    /// No thread ran.
    Nobody,
    Everybody,
}

/// A stack that is still to come.
#[derive(Clone, Copy, Debug)]
struct Pending {
    life: usize,
    owner: i64,
    thread: (u32, u32),
}

/// The world in which the steps are done. It knows all lives, so what is expected is looked up at
/// the end.
struct World {
    rules: Rules,
    followed: Followed,
    time: i64,
    lives: Vec<Life>,
    pending: Vec<Pending>,
    told: Vec<u32>,
    /// Threads that were told of; their ids say whose they are.
    threads: Vec<u32>,
    sent: Vec<About>,
    passed: Vec<usize>,
    news: Vec<(u32, Because)>,
}

impl World {
    fn new(rules: &Rules) -> Self {
        Self {
            rules: rules.clone(),
            followed: Followed::new(rules, FREQUENCY),
            time: 0,
            lives: Vec::new(),
            pending: Vec::new(),
            told: rules.pids.clone(),
            threads: Vec::new(),
            sent: Vec::new(),
            passed: Vec::new(),
            news: Vec::new(),
        }
    }

    fn now(&mut self) -> i64 {
        self.time += 1;
        self.time
    }

    fn living(&self, pid: u32) -> Option<usize> {
        self.lives.iter().rposition(|life| life.pid == pid && !life.is_over)
    }

    fn send(&mut self, event: &Sent, about: About) {
        let passed = &mut self.passed;
        self.followed.take(&event.event(self.sent.len()), &mut |event| passed.push(event.processor.into()));
        self.sent.push(about);
    }

    fn create(&mut self, pid: u32, parent: u32, name: usize, ran_before: bool) {
        let key = 0x1000 + self.lives.len() as u64;
        let is_told = self.told.contains(&pid);
        self.told.retain(|&told| told != pid);
        self.lives.push(Life {
            pid,
            info: info(key, parent, NAMES[name]),
            ran_before,
            is_over: false,
            is_named: false,
            followed: is_told.then_some(Some(i64::MIN)),
        });
    }

    fn announce(&mut self, life: usize) {
        let time = self.now();
        let Life { pid, ref info, ran_before, is_named, followed, .. } = self.lives[life];
        let is_start = !ran_before && !is_named;
        let hook = if is_start { hook::PROCESS_START } else { hook::PROCESS_RUNDOWN_START };
        let event = Sent::process(time, hook, pid, info);
        if !is_named {
            let is_child = is_start && self.rules.children && self.follows_now(info.parent);
            let because = match followed {
                Some(_) => Some(Because::Told),
                None if self.has_name(info) => Some(Because::Name),
                None => is_child.then_some(Because::Parent),
            };
            self.news.extend(because.map(|because| (pid, because)));
            self.lives[life].followed.get_or_insert(because.map(|_| i64::MIN));
        }
        self.lives[life].is_named = true;
        self.send(&event, About::Everybody);
    }

    fn end(&mut self, life: usize) {
        self.hurry_before(life);
        let time = self.now();
        let Life { pid, ref info, .. } = self.lives[life];
        let event = Sent::process(time, hook::PROCESS_END, pid, info);
        let is_wanted = self.has_name(info);
        let life = &mut self.lives[life];
        life.followed.get_or_insert(is_wanted.then_some(i64::MIN));
        life.is_over = true;
        self.send(&event, About::Everybody);
    }

    /// Of an id two processes are known; stacks of one before them would be too late.
    fn hurry_before(&mut self, life: usize) {
        let pid = self.lives[life].pid;
        let (late, rest) = self.pending.iter().partition(|stack| stack.life < life && self.lives[stack.life].pid == pid);
        self.pending = rest;
        let late: Vec<Pending> = late;
        late.into_iter().for_each(|stack| self.send_stack(stack));
        // So would be threads that such a one had.
        for (before, tid) in self.samples_in_wait() {
            if before < life && self.lives[before].pid == pid {
                self.thread(pid, tid);
            }
        }
    }

    /// Lives and threads of samples whose threads were not told of yet.
    fn samples_in_wait(&self) -> Vec<(usize, u32)> {
        let waits = |about: &About| match *about {
            About::Sample(life, _, tid) if !self.threads.contains(&tid) => Some((life, tid)),
            _ => None,
        };
        self.sent.iter().filter_map(waits).collect()
    }

    fn thread(&mut self, pid: u32, tid: u32) {
        let Some(life) = self.living(pid) else { return };
        let time = self.now();
        self.threads.push(tid);
        self.send(&Sent::thread(time, hook::THREAD_RUNDOWN_START, pid, tid), About::Life(life, time));
    }

    fn send_stack(&mut self, Pending { life, owner, thread }: Pending) {
        let event = Sent::stack(self.now(), thread, owner);
        self.send(&event, About::Life(life, owner));
    }

    fn has_name(&self, info: &ProcessInfo) -> bool {
        self.rules.names.iter().any(|name| name.eq_ignore_ascii_case(&info.name))
    }

    fn follows_now(&self, pid: u32) -> bool {
        self.told.contains(&pid) || self.living(pid).is_some_and(|life| matches!(self.lives[life].followed, Some(Some(_))))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Create { pid, parent, name, ran_before } => {
                if self.living(pid).is_none() && pid != parent {
                    self.create(pid, parent, name, ran_before);
                }
            }
            Step::Announce(pid) => drop(self.living(pid).map(|life| self.announce(life))),
            Step::End(pid) => drop(self.living(pid).map(|life| self.end(life))),
            Step::Replace { pid, parent, name } => {
                if let Some(life) = self.living(pid).filter(|&life| self.lives[life].is_named && pid != parent) {
                    self.hurry_before(life);
                    self.lives[life].is_over = true;
                    self.create(pid, parent, name, false);
                    self.announce(self.lives.len() - 1);
                }
            }
            Step::Pages { owner, caller, thread, stacks } => {
                if let (Some(life), Some(_)) = (self.living(owner), self.living(caller)) {
                    let (time, thread) = (self.now(), (caller, 10 * caller + thread));
                    self.send(&Sent::pages(time, thread, owner), About::Life(life, time));
                    self.pending.extend((0..stacks).map(|_| Pending { life, owner: time, thread }));
                }
            }
            Step::Stack(which) => {
                if !self.pending.is_empty() {
                    let stack = self.pending.swap_remove(which.index(self.pending.len()));
                    self.send_stack(stack);
                }
            }
            Step::Thread { pid, thread } => {
                self.thread(pid, 10 * pid + thread);
            }
            Step::Sample { pid: 0, .. } => {
                let event = Sent::sample(self.now(), 0);
                self.send(&event, About::Nobody);
            }
            Step::Sample { pid, thread } => {
                if let Some(life) = self.living(pid) {
                    let (time, tid) = (self.now(), 10 * pid + thread);
                    self.send(&Sent::sample(time, tid), About::Sample(life, time, tid));
                }
            }
            Step::Other(pid) => {
                let event = Sent { time: self.now(), pid, tid: 1, hook: hook::MARK, payload: vec![0; 8] };
                self.send(&event, About::Everybody);
            }
            Step::Follow(pid) => self.follow(pid),
        }
    }

    fn follow(&mut self, pid: u32) {
        let now = self.time;
        match self.living(pid).map(|life| &mut self.lives[life]) {
            None if self.told.contains(&pid) => {}
            None => self.told.push(pid),
            Some(life) => match life.followed {
                None => life.followed = Some(Some(i64::MIN)),
                Some(None) => life.followed = Some(Some(now + 1)),
                Some(Some(_)) => {}
            },
        }
        let passed = &mut self.passed;
        self.followed.follow(pid, &mut |event| passed.push(event.processor.into()));
    }

    /// Whether an event was to be passed on; `None` if that is open to the end.
    fn is_wanted(&self, about: About) -> Option<bool> {
        match about {
            About::Everybody => Some(true),
            About::Nobody => Some(false),
            About::Sample(_, _, tid) if !self.threads.contains(&tid) => None,
            About::Life(life, time) | About::Sample(life, time, _) => {
                self.lives[life].followed.map(|from| from.is_some_and(|from| from <= time))
            }
        }
    }

    fn check(mut self) {
        let of = |wanted| (0..self.sent.len()).filter(|&n| self.is_wanted(self.sent[n]) == Some(wanted)).collect::<Vec<_>>();
        let mut passed = self.passed.clone();
        passed.sort_unstable();
        assert_eq!(passed, of(true));
        assert_eq!((self.followed.dropped(), self.followed.undecided()), (of(false).len() as u64, 0));
        // What belongs to one process, and all that never waits, is in order.
        let order = |is: &dyn Fn(About) -> bool| assert!(self.passed.iter().filter(|&&n| is(self.sent[n])).is_sorted());
        order(&|about| matches!(about, About::Everybody));
        (0..self.lives.len()).for_each(|life| order(&|about| matches!(about, About::Life(of, _) if of == life)));
        let pids: Vec<u32> = (1..=PIDS).filter(|&pid| self.follows_now(pid)).collect();
        assert_eq!(self.followed.pids(), pids);
        let news: Vec<_> = self.followed.news().into_iter().map(|started| (started.pid, started.because)).collect();
        assert_eq!(news, self.news);
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    let names = prop_oneof![Just(vec![]), Just(vec!["GAME.exe".to_owned()])];
    (prop::collection::btree_set(1..=PIDS, 0..3), names, any::<bool>())
        .prop_map(|(pids, names, children)| Rules { pids: pids.into_iter().collect(), names, children })
        .prop_filter("restricts nothing", |rules| !rules.pids.is_empty() || !rules.names.is_empty())
}

proptest! {
    #[test]
    fn exactly_what_belongs_to_followed_processes_is_passed_on(rules in rules(), steps in prop::collection::vec(step(), 0..200)) {
        let mut world = World::new(&rules);
        steps.into_iter().for_each(|step| world.step(step));
        world.check();
    }
}
