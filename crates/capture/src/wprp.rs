//! A recording profile for Windows Performance Recorder (`.wprp`) that asks for what a request does, for machines without
//! highwater.
//!
//! Sources: Microsoft's pages of WPR's elements (learn.microsoft.com, `windows-hardware/test/wpt`: the order of definitions,
//! collectors, *Keyword (in SystemProvider)* and *Stack* with their values, EventProvider, EventFilters, HeapProcessId), and `Heap.wprp` in
//! microsoft/MSO-Scripts: processes by id are named in the profile, those by name only with `wpr -HeapTracingConfig`.
//! What such a profile records was not tried on Windows.

use std::fmt::Write;

use super::providers::{Wanted, wanted};
use super::{Request, Target};

/// Bytes of a buffer, in KB.
const BUFFER_KB: u32 = 1024;

/// Stacks of all kinds of page faults. Only its stack names the process of a fault.
const FAULT_STACKS: [&str; 7] = [
    "HardFault",
    "PagefaultTransition",
    "PagefaultDemandZero",
    "PagefaultCopyOnWrite",
    "PagefaultGuard",
    "PagefaultHard",
    "PagefaultAV",
];

/// Returns the profile as XML.
pub fn recording_profile(request: &Request) -> String {
    let pids = if let Target::Pids(pids) = &request.target { pids.as_slice() } else { &[] };
    let providers = wanted(request);
    let mut text = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n{}", how_to(request, pids));
    text += "<WindowsPerformanceRecorder Version=\"1.0\">\n  <Profiles>\n";
    for (kind, id, name, buffers) in [
        ("SystemCollector", "System", "NT Kernel Logger", 256),
        ("EventCollector", "Events", "highwater events", 64),
        ("HeapEventCollector", "Heaps", "highwater heaps", 512),
    ] {
        text += &format!(
            "    <{kind} Id=\"{id}\" Name=\"{name}\">\n      <BufferSize Value=\"{BUFFER_KB}\"/>\n      <Buffers Value=\"{buffers}\"/>\n    \
             </{kind}>\n"
        );
    }
    text += &system_provider(request);
    (0..).zip(&providers).for_each(|(n, provider)| text += &event_provider(n, provider));
    if request.heap && !pids.is_empty() {
        text += &format!(
            "    <HeapEventProvider Id=\"HeapsOfProcesses\">\n{}    </HeapEventProvider>\n",
            values("HeapProcess", pids)
        );
    }
    text += &profile(request, pids, providers.len());
    text + "  </Profiles>\n</WindowsPerformanceRecorder>\n"
}

/// A comment on how to use the profile.
fn how_to(request: &Request, pids: &[u32]) -> String {
    let by_name = request.heap && pids.is_empty();
    let before = if by_name { "  wpr -HeapTracingConfig game.exe enable    before game.exe starts\n" } else { "" };
    let after = if by_name { "  wpr -HeapTracingConfig game.exe disable\n" } else { "" };
    format!("<!--\n{before}  wpr -start memory.wprp -filemode\n  wpr -stop game.etl\n{after}-->\n")
}

/// A list of values as an element of its plural.
fn values<T: std::fmt::Display>(element: &str, all: &[T]) -> String {
    let mut text = format!("      <{element}Ids>\n");
    for value in all {
        let _ = writeln!(text, "        <{element}Id Value=\"{value}\"/>");
    }
    text + &format!("      </{element}Ids>\n")
}

fn system_provider(request: &Request) -> String {
    let parts =
        |all: &[(bool, &'static str)]| -> Vec<&'static str> { all.iter().filter(|part| part.0).map(|part| part.1).collect() };
    let keywords = parts(&[
        (true, "ProcessThread"),
        (true, "Loader"),
        (request.commit, "VirtualAllocation"),
        (request.commit, "VAMap"),
        (request.samples, "SampledProfile"),
        (request.faults, "AllFaults"),
        (request.faults, "HardFaults"),
    ]);
    let (allocated, freed) = (request.stacks, request.free_stacks);
    let faults = FAULT_STACKS.map(|stack| (request.faults, stack));
    let stacks = [
        (request.commit && allocated, "VirtualAllocation"),
        (request.commit && freed, "VirtualFree"),
        (request.heap && allocated, "HeapCreate"),
        (request.heap && allocated, "HeapAllocation"),
        (request.heap && allocated, "HeapReallocation"),
        (request.heap && freed, "HeapFree"),
        (request.samples, "SampledProfile"),
    ];
    let stacks = parts(&[&stacks[..], &faults].concat());
    let list = |plural: &str, one: &str, all: &[&str]| {
        let lines: String = all.iter().map(|value| format!("        <{one} Value=\"{value}\"/>\n")).collect();
        if all.is_empty() { String::new() } else { format!("      <{plural}>\n{lines}      </{plural}>\n") }
    };
    let (keywords, stacks) = (list("Keywords", "Keyword", &keywords), list("Stacks", "Stack", &stacks));
    format!("    <SystemProvider Id=\"Kernel\">\n{keywords}{stacks}    </SystemProvider>\n")
}

fn event_provider(n: usize, wanted: &Wanted) -> String {
    let Wanted { provider, level, keywords, stacks, ids, .. } = wanted;
    let mut inner = String::new();
    if *keywords != 0 {
        inner += &format!("      <Keywords>\n        <Keyword Value=\"{keywords:#x}\"/>\n      </Keywords>\n");
    }
    if !ids.is_empty() {
        let lines: String = ids.iter().map(|id| format!("        <EventId Value=\"{id}\"/>\n")).collect();
        inner += &format!("      <EventFilters FilterIn=\"true\">\n{lines}      </EventFilters>\n");
    }
    let stack = if *stacks { " Stack=\"true\"" } else { "" };
    let state = format!("    <EventProvider Id=\"Provider{n}\" Name=\"{provider}\" Level=\"{level}\"{stack}");
    if inner.is_empty() { format!("{state}/>\n") } else { format!("{state}>\n{inner}    </EventProvider>\n") }
}

/// The profile, to a file and as a ring in memory.
fn profile(request: &Request, pids: &[u32], providers: usize) -> String {
    let id = "HeapEventProviderId Value=\"HeapsOfProcesses\"";
    let heaps = match (request.heap, pids.is_empty()) {
        (false, _) => String::new(),
        (true, true) => "        <HeapEventCollectorId Value=\"Heaps\"/>\n".to_owned(),
        (true, false) => format!(
            "        <HeapEventCollectorId Value=\"Heaps\">\n          <HeapEventProviders>\n            <{id}/>\n          \
             </HeapEventProviders>\n        </HeapEventCollectorId>\n"
        ),
    };
    let list: String = (0..providers).map(|n| format!("            <EventProviderId Value=\"Provider{n}\"/>\n")).collect();
    let events = match providers {
        0 => String::new(),
        _ => format!(
            "        <EventCollectorId Value=\"Events\">\n          <EventProviders>\n{list}          </EventProviders>\n        \
             </EventCollectorId>\n"
        ),
    };
    let named = "Name=\"Memory\" Description=\"Memory, as highwater records it\" DetailLevel=\"Verbose\"";
    format!(
        "    <Profile Id=\"Memory.Verbose.File\" {named} LoggingMode=\"File\">\n      <Collectors>\n        <SystemCollectorId \
         Value=\"System\">\n          <SystemProviderId Value=\"Kernel\"/>\n        </SystemCollectorId>\n{events}{heaps}      \
         </Collectors>\n    </Profile>\n    <Profile Id=\"Memory.Verbose.Memory\" {named} Base=\"Memory.Verbose.File\" \
         LoggingMode=\"Memory\"/>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::class;

    /// Elements with their values, in their order.
    fn all(text: &str, element: &str) -> Vec<String> {
        let begin = format!("<{element} ");
        let attribute = |line: &str| line.split('"').nth(1).map(str::to_owned);
        text.lines().filter(|line| line.trim_start().starts_with(&begin)).filter_map(attribute).collect()
    }

    #[test]
    fn a_profile_asks_for_what_the_request_asks_for() {
        let request = Request { free_stacks: true, samples: true, ..Request::new(Target::Pids(vec![4660, 5120])) };
        let text = recording_profile(&request);
        assert_eq!(all(&text, "HeapProcessId"), ["4660", "5120"]);
        let keywords = all(&text, "Keyword");
        assert!(
            ["ProcessThread", "Loader", "VirtualAllocation", "VAMap", "SampledProfile"]
                .iter()
                .all(|one| keywords.contains(&(*one).into()))
        );
        let stacks = all(&text, "Stack");
        assert!(
            ["HeapAllocation", "HeapReallocation", "HeapFree", "VirtualAllocation", "VirtualFree"]
                .iter()
                .all(|one| stacks.contains(&(*one).into()))
        );
        assert!(text.contains(&format!("Name=\"{}\"", class::CUSTOM_HEAP)) && text.contains(&format!("Name=\"{}\"", class::PIX)));
        // Each provider that is defined is used, and each that is used is defined.
        let defined = text.matches("<EventProvider Id=").count();
        assert_eq!(all(&text, "EventProviderId").len(), defined);
        assert_eq!(defined, wanted(&request).len());
    }

    #[test]
    fn page_faults_are_requested_with_their_stacks_and_only_if_they_are_wanted() {
        let request = Request { stacks: false, ..Request::new(Target::Pids(vec![4660])) };
        let with = recording_profile(&Request { faults: true, ..request.clone() });
        let without = recording_profile(&request);
        let more = |element| {
            let before = all(&without, element);
            all(&with, element).into_iter().filter(|value| !before.contains(value)).collect::<Vec<_>>()
        };
        assert_eq!(more("Keyword"), ["AllFaults", "HardFaults"]);
        assert_eq!(more("Stack"), FAULT_STACKS);
        assert_eq!(FAULT_STACKS.len(), crate::events::FaultKind::ALL.len());
    }

    #[test]
    fn programs_by_name_are_traced_with_wprs_own_switch_and_what_is_not_asked_for_is_not_there() {
        let request = Request { commit: false, trackers: false, stacks: false, ..Request::new(Target::Image("game.exe".into())) };
        let text = recording_profile(&request);
        assert!(text.contains("-HeapTracingConfig game.exe enable") && !text.contains("HeapProcessId"));
        assert!(!text.contains("VirtualAllocation") && !text.contains("<Stack") && !text.contains("EventProviderId"));
        assert!(text.contains("<HeapEventCollectorId Value=\"Heaps\"/>"));
        let heapless = Request { heap: false, ..Request::new(Target::Image("game.exe".into())) };
        assert!(!recording_profile(&heapless).contains("HeapTracingConfig"));
        for (open, close) in [("<Profile ", "</Profile>"), ("<EventProvider ", "</EventProvider>"), ("<Keywords>", "</Keywords>")]
        {
            let empty = text.matches("/>").count();
            assert!(text.matches(open).count() >= text.matches(close).count() && empty > 0);
        }
    }
}
