use proptest::prelude::*;

use super::super::Because;
use super::*;

const PIDS: u32 = 6;

/// One step of a test; it does nothing if it is impossible.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A process begins. `ran_before`: it ran before the recording, so it has no start event.
    Create { pid: u32, parent: u32, name: usize, ran_before: bool },
    /// Its start event, or the rundown event if it ran before; if it is named already, another rundown event.
    Announce(u32),
    /// Its end event.
    End(u32),
    /// Its end event is lost, and its id is reused at once.
    Replace { pid: u32, parent: u32, name: usize },
    /// A thread of the process `caller` allocates pages in the process `owner`; `stacks` is the number of stack events to come.
    Pages { owner: u32, caller: u32, thread: u32, stacks: usize },
    /// One of the pending stack events comes.
    Stack(prop::sample::Index),
    /// An event of another kind.
    Other(u32),
    /// A thread event names the process of a thread.
    Thread { pid: u32, thread: u32 },
    /// A CPU sample of a thread; of an idle CPU if the process id is 0.
    Sample { pid: u32, thread: u32 },
    /// A process id is given later.
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

/// The true life of a process.
#[derive(Clone, Debug)]
struct Life {
    pid: u32,
    info: ProcessInfo,
    ran_before: bool,
    is_over: bool,
    is_named: bool,
    /// The time from which it is followed; `Some(None)` if it is known not to be followed; `None` while that is open.
    followed: Option<Option<i64>>,
}

/// The subject of an event, by which the oracle judges it.
#[derive(Clone, Copy, Debug)]
enum About {
    /// A page event of this life at this time, or its stack.
    Life(usize, i64),
    /// A sample of a thread of this life at this time.
    Sample(usize, i64, u32),
    /// A sample of an idle CPU.
    Nobody,
    Everybody,
}

/// A stack event that is still to come.
#[derive(Clone, Copy, Debug)]
struct Pending {
    life: usize,
    owner: i64,
    thread: (u32, u32),
}

/// The simulated system. It knows all lives, so the expected result is computed at the end.
struct World {
    rules: Rules,
    followed: Followed,
    time: i64,
    lives: Vec<Life>,
    pending: Vec<Pending>,
    told: Vec<u32>,
    /// Threads named by thread events. Their ids encode their processes.
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

    /// Sends the pending stacks of an earlier process with this id now: only two processes per id are kept, so they
    /// would come too late after this one ends.
    fn hurry_before(&mut self, life: usize) {
        let pid = self.lives[life].pid;
        let (late, rest) = self.pending.iter().partition(|stack| stack.life < life && self.lives[stack.life].pid == pid);
        self.pending = rest;
        let late: Vec<Pending> = late;
        late.into_iter().for_each(|stack| self.send_stack(stack));
        // Likewise the thread events of an earlier process.
        for (before, tid) in self.samples_in_wait() {
            if before < life && self.lives[before].pid == pid {
                self.thread(pid, tid);
            }
        }
    }

    /// Lives and threads of the samples whose threads have not been named yet.
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

    /// Whether an event should be passed on; `None` if that was never decided.
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
        // The events of one process are in order, and so are all events that never wait.
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
