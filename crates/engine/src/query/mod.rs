//! Queries on one immutable trace: memory that was alive, allocated and freed in an interval, in any grouping; series
//! for the graph; the tree of the table.
//!
//! Queries are pure functions of (trace, interval, filter). They run on workers and stop early when their [`Cancel`] is
//! set. All of them classify rows with [`LifetimeClass::of`]. Groupings are groupings of sites, except those by
//! properties of single rows (thread, size, lifetime).
//!
//! A query can be restricted to selected rows ([`RowChoice`]): [`Index::choosing`] returns an index whose queries see
//! only these rows, and scan them.
//!
//! Queries that depend on rows take an [`Index`]: a trace with its prepared data. With everything prepared, a new
//! interval costs the sites, and the events between its edges and the nearest checkpoints; a graph costs its bins.
//! While a trace grows, an interval that was queried in the previous publication costs the new events; a new interval
//! costs a parallel scan of the rows, and a sort of the changes in it if their order matters. Expanding a node of the
//! tree costs a pass over the sites, not the rows.

mod activity;
mod address_map;
mod alive;
mod bins;
mod buckets;
mod by;
mod call_lines;
mod call_tree;
mod callers;
mod cancel;
mod changes;
mod class;
mod coarse;
mod commit_parts;
mod counters;
mod details;
mod diff;
mod doubts;
mod earlier;
mod filter;
mod findings;
mod flame;
mod fold;
mod frame_name;
mod functions;
mod generations;
mod grouping;
mod growth;
mod heap_numbers;
mod highlight;
mod histogram;
mod index;
mod key_map;
mod line_tree;
mod meant;
mod measured;
mod moments;
mod naming;
mod numbers;
mod owners;
mod pages;
mod peaks;
mod recorded;
mod report;
mod row_groups;
mod row_set;
mod rows;
mod scan;
mod series;
mod series_of;
mod silent;
mod site_choice;
mod site_names;
mod source_lines;
mod sum_peaks;
mod summary;
mod tags;
mod texts;
mod top_contributors;
mod totals;
mod touched;
mod tree;
mod types;
mod unmatched;
mod unnamed;
mod what_if;

pub use activity::{
    ActivityEntries, CallerTouches, ChainEntry, ChainFrames, CommitTouches, FaultEntries, FaultEntry, FaultNumbers, FrameBar,
    FrameCounts, FrameEntry, FrameLine, FrameRequest, FrameSums, FrameTimes, GpuEntry, LayerFrames, MOST_FRAMES, MOST_SCOPES,
    MarkEntries, MarkEntry, MarkRequest, MarkSpot, PerFrame, ProcessSamples, ProcessorEntries, ProcessorEntry, ReportedEntry,
    SampleNumbers, ScopeEntry, ScopeRequest, ScopeSums, StepNumbers, api_name, bytes_at_edges, chain_label, each_scope,
    fault_entries, fault_series, fault_sums, find_mark, frame_bars, frame_lanes, frame_name, frame_sums, gpu_entries, has_faults,
    has_samples, layers_of, main_frames, main_gpu, mark_entries, mark_places, mark_spots, marks, process_faults, process_samples,
    processor_entries, processor_series, reported_entries, sample_counts, sample_sums, sample_sums_where, sampled_stacks,
    scope_count, scope_sums, sort_by_allocated,
};
pub use address_map::{AddressMap, AddressSpace, MapBlock, MapCell, MapRegion, MapRequest, Region, Sums, address_map};
pub use buckets::{LifetimeBounds, LifetimeBucket, SizeBucket};
pub use by::By;
pub use call_lines::CallLines;
pub use call_tree::{CallLine, call_tree, call_tree_peaks, call_tree_touched, heaviest_path, node_name, sort_call_lines};
pub use callers::{Caller, CallerFinder, CallerFrame, Fold};
pub use cancel::{Cancel, Cancelled};
pub use class::{ImpactingType, LifetimeClass, Words};
pub use coarse::coarse_series;
pub use commit_parts::{
    CommitEntry, CommitPart, CommitPartEntry, CommitRequest, MappedEntry, MappedViews, PartKind, ProcessCommit, RangeOwners,
    commit_entries, commit_parts, has_commit,
};
pub use counters::{
    CounterGroup, HEIGHT, ProcessCounters, adapter_label, counter_at, counter_groups, counter_label, counter_owner,
    counter_series, counter_text, default_counter, number_text, process_counters, reported_range,
};
pub use details::{Details, details, line_of_rows};
pub use diff::{CommonGroups, Compared, Delta, DiffSide, diff, folded_diff};
pub use doubts::{doubts, doubts_about, input_doubts, is_doubt, losses};
pub use earlier::{BEFORE_UNKNOWN, Earlier, LatestCommit, known_part};
pub use filter::{Filter, Key, Mask, Path, layer_of};
pub use findings::{Finding, FindingKind, Habit, findings, headlines};
pub use flame::{FlameBox, FlameBoxes, FlameWeight, FlameWeights, find_way, flame_boxes};
pub use frame_name::FrameName;
pub use functions::{
    Amount, Butterfly, Forest, ForestSums, FunctionGroup, FunctionId, FunctionNodes, FunctionPlaces, FunctionSums, Functions,
    FunctionsRequest, ModuleName, Neighbour, NeighbourGroup, NodeKey, NodeSums, PathId, SampledFunction, freed_sums,
    function_sums, functions, sampled_functions,
};
pub use generations::{GenerationGroup, GenerationsRequest, generations};
pub use heap_numbers::{HeapNumbers, heap_numbers, heap_series};
pub use highlight::spans;
pub use histogram::{Histogram, histogram};
pub use index::{Index, IndexOptions};
pub use key_map::KeyMap;
pub use meant::check_thread;
pub use measured::{Measured, MeasuredRequest, PageSums};
pub use moments::{RowSeen, SiteMoment, site_moments};
pub use naming::{
    FrameAddress, NO_STACK_KEY, SHARED, UNKNOWN_TYPE, allocated_type, frames_of_stack, heap_label, layer_label, layer_meaning,
    sampled_labels, shared_label, stack_labels, thread_label,
};
pub use numbers::{Bucket, ByClass, Numbers, UNKNOWN_CHANGE};
pub use owners::owners;
pub use pages::{HeapPages, MOST_MOMENTS, PAGE, PagesAnswer, PagesRequest, PinnedPages, committed_over_time, pages};
pub use recorded::Recorded;
pub use report::{Group, GroupNumbers, Report, ReportFilter, ReportRequest, each_group, each_stack, named_report, report};
pub use row_groups::{RowGroup, RowGrouping, RowsAsked, SiteLabels, row_groups};
pub use row_set::{Bounds, RowChoice, RowCondition, RowSet};
pub use rows::{RowColumn, RowSort, RowTable, rows};
pub use series::{Series, series};
pub use series_of::SeriesOf;
pub use silent::silent_allocators;
pub use site_choice::SiteChoice;
pub use site_names::SiteNames;
pub use source_lines::{SourceLine, source_lines};
pub use tags::tags;
pub use top_contributors::{Measure, TopContributor};
pub use totals::{Totals, totals};
pub use touched::{TouchedBytes, first_touches, shows_touches, touched_doubt, touched_sites};
pub use tree::{
    Column, MAX_FOUND_FRAMES, Sort, TouchedLines, Tree, TreeRequest, TreeRow, Trimmed, by_heap, magnitude, peaks, sort_nodes,
    touched_lines, tree, upper_peaks,
};
pub use types::{TypeGroup, TypeKey, Types};
pub use unmatched::{UNMATCHED_KEYS, UnmatchedGroup, UnmatchedRequest, unmatched, unmatched_sites};
pub use unnamed::{Decides, Unnamed, UnnamedModule};
pub use what_if::{ArenaKey, Model, ModelNumbers, ModelsDone, WhatIfRequest, pool_sentence, what_if};
