//! Starts all sessions of a recording. Sessions that cannot be started are reported; only if nothing of the request can
//! be recorded does the recording fail.

use std::sync::{Arc, Mutex};

use super::clock;
use super::consumer::{Filter, Sink};
use super::plan::{Machine, Plan, is_of};
use super::source::Source;
use crate::{CaptureError, Elsewhere, Followed, Lane, Recording, Request, providers};

/// The started sources.
#[derive(Default)]
pub(super) struct StartedSources {
    /// The sources, in the order in which they are stopped: the kernel's last, since its image rundown at the end
    /// covers everything before.
    pub(super) sources: Vec<Source>,
    /// The missing parts, with reasons.
    pub(super) warnings: Vec<String>,
    /// The lanes whose sessions run.
    lanes: Vec<Lane>,
}

/// Starts the sessions that a request needs.
pub(super) fn start(
    request: &Request,
    recording: &Recording,
    machine: Machine,
    pids: &[u32],
    followed: &Arc<Mutex<Followed>>,
) -> Result<StartedSources, CaptureError> {
    // The kernel session starts first: it reports the processes and images that the other sessions' events refer to.
    let mut plans = vec![Plan::kernel(request, machine)];
    if request.heap {
        plans.push(Plan::heap(request, machine, pids));
    }
    plans.extend(Plan::providers(request, machine, pids));
    let mut started = StartedSources::default();
    let mut first_refusal = None;
    for plan in plans {
        let lane = plan.lane;
        let sink = Sink::new(recording, lane, filter(lane, request, pids, followed));
        match Source::start(plan, sink) {
            Ok(source) => {
                started.warnings.extend(source.shortfalls.iter().map(ToString::to_string));
                started.sources.push(source);
                started.lanes.push(lane);
            }
            Err(refusal) => {
                started.warnings.push(format!("{}: {refusal}", missing(lane, request)));
                first_refusal.get_or_insert(refusal);
            }
        }
    }
    // On an error, dropping the sources stops them.
    match first_refusal {
        Some(refusal) if !started.has_any(request) => Err(refusal),
        _ => {
            let has_kernel = started.has(Lane::Pages);
            started.sources.rotate_left(usize::from(has_kernel));
            Ok(started)
        }
    }
}

fn filter(lane: Lane, request: &Request, pids: &[u32], followed: &Arc<Mutex<Followed>>) -> Filter {
    match lane {
        Lane::Pages => Filter::Pages(Arc::clone(followed)),
        Lane::User if is_of(request) => Filter::Of(pids.to_vec()),
        Lane::User => Filter::Programs(Arc::clone(followed), Mutex::new(Elsewhere::new(clock::frequency()))),
        Lane::Context | Lane::Heap => Filter::Everybody,
    }
}

impl StartedSources {
    pub(super) fn has(&self, lane: Lane) -> bool {
        self.lanes.contains(&lane)
    }

    /// Whether anything of the request is recorded.
    fn has_any(&self, request: &Request) -> bool {
        let wanted = [(request.commit, Lane::Pages), (request.heap, Lane::Heap), (request.has_trackers(), Lane::User)];
        wanted.into_iter().any(|(is_wanted, lane)| is_wanted && self.has(lane))
    }
}

fn missing(lane: Lane, request: &Request) -> String {
    match lane {
        Lane::Heap => "heaps are not recorded".to_owned(),
        Lane::User => {
            let mut purposes: Vec<_> = providers::wanted(request).iter().map(|wanted| wanted.purpose).collect();
            purposes.dedup();
            purposes.iter().map(|purpose| purpose.missing()).collect::<Vec<_>>().join(", ")
        }
        Lane::Context | Lane::Pages if request.commit => "commit and the names of modules are not recorded".to_owned(),
        Lane::Context | Lane::Pages => "the names of modules are not recorded".to_owned(),
    }
}
