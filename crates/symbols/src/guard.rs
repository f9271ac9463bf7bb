//! Runs parsers of other projects on untrusted input.
//!
//! The work gets a thread of its own with a deep stack. A panic is returned as an error. At the time limit, or when
//! the answer is not wanted any more, its [`Stop`] is set, which its reads and loops check; if it does not end even
//! then, it is left behind. The limit grows with the size of the file, which may lie on a slow share; meanwhile the
//! work reports its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::PdbError;
use crate::panics;

/// A flag that stops some work; copies of it belong to the same work.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_set: AtomicBool,
    until: Option<Instant>,
    outer: Option<Stop>,
}

impl Stop {
    /// Stops the work.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::Release);
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        let inner = &self.0;
        inner.is_set.load(Ordering::Acquire)
            || inner.until.is_some_and(|until| Instant::now() >= until)
            || inner.outer.as_ref().is_some_and(Self::is_set)
    }

    /// Returns an error if the work is to stop.
    pub(super) fn check(&self) -> Result<(), PdbError> {
        if self.is_set() { Err(PdbError::Stopped) } else { Ok(()) }
    }

    /// A flag that is set with this one, or after some time.
    pub(super) fn within(&self, limit: Duration) -> Self {
        let until = Instant::now().checked_add(limit);
        Self(Arc::new(Inner { is_set: AtomicBool::new(false), until, outer: Some(self.clone()) }))
    }
}

/// The stop flag of running work, and the counter of its progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    stop: Stop,
    bytes: Arc<AtomicU64>,
}

impl Work {
    /// Whether to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Returns an error if the work is to stop.
    pub(super) fn check(&self) -> Result<(), PdbError> {
        self.stop.check()
    }

    /// Counts bytes that were read or written.
    pub(super) fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Minimum time limit: longer than any sound file takes, apart from its size.
const LEAST: Duration = Duration::from_secs(120);

/// Bytes per second that a share behind a slow line gives.
const SLOWEST: u64 = 1 << 20;

/// The time limit of work on so many bytes.
pub(super) fn limit_of(bytes: u64) -> Duration {
    LEAST + Duration::from_secs(bytes / SLOWEST)
}

/// Stack size of the thread. This is address space only: the unused part costs no memory.
const STACK: usize = 32 << 20;

/// Time that a stopped parser has to notice it.
const GRACE: Duration = Duration::from_millis(500);

/// Time between two checks whether the answer is still wanted.
const TICK: Duration = Duration::from_millis(20);

/// Runs `work` for at most `limit`.
pub(super) fn run<T: Send + 'static>(
    limit: Duration,
    outer: &Stop,
    work: impl FnOnce(&Work) -> Result<T, PdbError> + Send + 'static,
) -> Result<T, PdbError> {
    run_watched(limit, outer, &|_| {}, work)
}

/// Runs `work` for at most `limit`; `progress` is called with the bytes that the work has counted, as they grow.
pub(super) fn run_watched<T: Send + 'static>(
    limit: Duration,
    outer: &Stop,
    progress: &dyn Fn(u64),
    work: impl FnOnce(&Work) -> Result<T, PdbError> + Send + 'static,
) -> Result<T, PdbError> {
    outer.check()?;
    let stop = outer.within(limit);
    let (sender, receiver) = channel();
    let theirs = Work { stop: stop.clone(), bytes: Arc::default() };
    let counted = Arc::clone(&theirs.bytes);
    let mut told = 0;
    let mut tell = || {
        let bytes = counted.load(Ordering::Relaxed);
        if bytes > told {
            told = bytes;
            progress(bytes);
        }
    };
    let body = move || {
        let result = panics::catch(|| work(&theirs));
        let _ = sender.send(result); // nobody listens if it took too long
    };
    std::thread::Builder::new().name("symbols".to_owned()).stack_size(STACK).spawn(body)?;
    let mut stopped_at: Option<Instant> = None;
    let result = loop {
        let news = receiver.recv_timeout(TICK);
        tell();
        match news {
            Ok(result) => break Some(result),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) if stop.is_set() => {
                let since = *stopped_at.get_or_insert_with(Instant::now);
                if since.elapsed() > GRACE {
                    break None;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    match result {
        _ if outer.is_set() => Err(PdbError::Stopped),
        Some(Ok(Ok(answer))) => Ok(answer),
        // Any other result comes from being stopped.
        _ if stop.is_set() => Err(PdbError::TooSlow(limit.as_secs())),
        Some(Ok(Err(error))) => Err(error),
        Some(Err(caught)) => Err(PdbError::Damaged(format!("its reader failed ({caught})"))),
        None => Err(PdbError::Damaged("its reader ended without an answer".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_panic_is_a_reason() {
        let result = run(LONG, &Stop::default(), |_| -> Result<(), _> { panic!("index 7 is out of range") });
        assert!(matches!(&result, Err(PdbError::Damaged(why)) if why.contains("index 7")), "{result:?}");
        assert_eq!(run(LONG, &Stop::default(), |_| Ok(3)), Ok(3));
    }

    #[test]
    fn what_does_not_end_is_given_up_at_the_limit() {
        let (end, ended) = channel::<()>();
        let result = run(Duration::ZERO, &Stop::default(), move |_| {
            let _ = ended.recv(); // does not look at the clock
            Ok(())
        });
        assert_eq!(result, Err(PdbError::TooSlow(0)));
        drop(end);
    }

    #[test]
    fn work_tells_how_far_it_is() {
        let (seen, last) = (AtomicU64::new(0), AtomicU64::new(0));
        let progress = |bytes| {
            seen.fetch_add(1, Ordering::Relaxed);
            assert!(last.swap(bytes, Ordering::Relaxed) < bytes);
        };
        let result = run_watched(LONG, &Stop::default(), &progress, |work| {
            for _ in 0..5 {
                work.count(100);
                std::thread::sleep(2 * TICK);
            }
            Ok(())
        });
        assert_eq!((result, last.into_inner()), (Ok(()), 500));
        assert!(seen.into_inner() > 1, "while it went on");
    }

    #[test]
    fn large_files_on_slow_shares_have_the_time_they_need() {
        assert_eq!(limit_of(0), LEAST);
        let three_gigabytes = limit_of(3 << 30);
        assert!((3000..4000).contains(&three_gigabytes.as_secs()), "{three_gigabytes:?}: at a megabyte a second");
        assert!(limit_of(u64::MAX) > three_gigabytes);
    }

    #[test]
    fn what_nobody_wants_is_stopped() {
        let outer = Stop::default();
        let inner = outer.clone();
        let result = run(LONG, &outer, move |stop| {
            inner.set();
            while !stop.is_stopped() {
                std::thread::yield_now();
            }
            stop.check()
        });
        assert_eq!(result, Err(PdbError::Stopped));
        assert_eq!(run(LONG, &outer, |_| Ok(())), Err(PdbError::Stopped), "nor begun");
    }
}
