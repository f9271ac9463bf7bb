//! The layout of the window's parts as it is saved: names and shares, nothing that changes from run to
//! run. Presets and the layout in the settings are such shapes.

use serde::{Deserialize, Serialize};

use super::Part;
use crate::app::state::ids::{Tab, ViewId};

/// Parts and their arrangement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A part by its name.
    Part(String),
    /// Side by side.
    Row(Vec<Share>),
    /// One below the other.
    Column(Vec<Share>),
    /// One behind the other, with tabs.
    Tabs {
        /// From left to right.
        of: Vec<Shape>,
        /// Index of the tab in front.
        front: usize,
    },
}

/// A shape with its share of the space.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Share {
    /// The share, in relation to those of its neighbours.
    pub share: f32,
    /// The shape.
    pub of: Shape,
}

/// Layouts to choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// All tables in tabs of one container.
    FirstLook,
    /// For leaks: which memory stays, and since when.
    Leak,
    /// For spikes: the contents of memory at one moment.
    Spike,
    /// As in WPA: the graph and the table below it have equal heights, and the table the window's full width.
    Wpa,
    /// Two intervals or traces side by side with the stacks.
    Compare,
    /// For allocations, and for the code that ran meanwhile.
    Flames,
}

impl Preset {
    /// In the order of the menu.
    pub const ALL: [Self; 6] = [Self::FirstLook, Self::Leak, Self::Spike, Self::Wpa, Self::Compare, Self::Flames];

    /// The name in the menu.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstLook => "First look",
            Self::Leak => "Leak",
            Self::Spike => "Spike",
            Self::Wpa => "WPA",
            Self::Compare => "Compare",
            Self::Flames => "Flame graphs side by side",
        }
    }

    /// The purpose of the preset.
    pub fn hint(self) -> &'static str {
        match self {
            Self::FirstLook => "All tables as tabs below the graph",
            Self::Leak => "Stacks and generations side by side: what stays in memory, and since when",
            Self::Spike => "Stacks and flame graph side by side: what memory is made of at one moment",
            Self::Wpa => "Graph and table in equal parts, each as wide as the window",
            Self::Compare => "A small graph, with the comparison and the stacks below it",
            Self::Flames => "Flame graphs of memory and of CPU samples in the same interval",
        }
    }

    /// The tab that the preset brings to the front, whichever was in front before.
    pub fn front(self) -> Option<ViewId> {
        (self == Self::Flames).then_some(ViewId::Flame)
    }

    /// The arrangement of its parts.
    pub fn shape(self) -> Shape {
        use ViewId::{Allocations, Compare, Flame, FreedBy, Generations, Histograms, Processors, Types};
        let all: Vec<Tab> = Tab::all().collect();
        let views = |views: &[ViewId]| views.iter().map(|&view| Tab::View(view)).collect::<Vec<_>>();
        let but = |left_out: &[Tab]| all.iter().copied().filter(|tab| !left_out.contains(tab)).collect::<Vec<_>>();
        let below = |graph: f32, tables: Shape| {
            let right = Shape::column([(graph, Part::Graph.into()), (100.0 - graph, tables)]);
            Shape::row([(22.0, Part::Sources.into()), (78.0, right)])
        };
        match self {
            Self::FirstLook => below(54.0, Shape::tabs(&all)),
            Self::Leak => {
                let beside = views(&[Generations, Allocations, FreedBy]);
                below(42.0, Shape::row([(56.0, Shape::tabs(&but(&beside))), (44.0, Shape::tabs(&beside))]))
            }
            Self::Spike => {
                let beside = views(&[Flame, Types, Histograms]);
                below(42.0, Shape::row([(56.0, Shape::tabs(&but(&beside))), (44.0, Shape::tabs(&beside))]))
            }
            Self::Wpa => {
                let above = Shape::row([(22.0, Part::Sources.into()), (78.0, Part::Graph.into())]);
                Shape::column([(50.0, above), (50.0, Shape::tabs(&all))])
            }
            Self::Compare => {
                let first = views(&[Compare]);
                below(28.0, Shape::row([(58.0, Shape::tabs(&first)), (42.0, Shape::tabs(&but(&first)))]))
            }
            Self::Flames => {
                let (ran, flame) = (views(&[Processors]), views(&[Flame]));
                let memory = [flame, but(&views(&[Flame, Processors]))].concat();
                below(32.0, Shape::row([(50.0, Shape::tabs(&memory)), (50.0, Shape::tabs(&ran))]))
            }
        }
    }
}

impl Part {
    /// The name in saved layouts, which never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::Sources => "Sources",
            Self::Graph => "Graph",
            Self::Tab(tab) => tab.key(),
        }
    }

    /// The caption.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sources | Self::Graph => self.key(),
            Self::Tab(tab) => tab.title(),
        }
    }

    /// All parts.
    pub fn all() -> Vec<Self> {
        [Self::Sources, Self::Graph].into_iter().chain(Tab::all().map(Self::Tab)).collect()
    }
}

impl From<Part> for Shape {
    fn from(part: Part) -> Self {
        Self::Part(part.key().to_owned())
    }
}

impl Shape {
    fn row(parts: impl IntoIterator<Item = (f32, Self)>) -> Self {
        Self::Row(parts.into_iter().map(|(share, of)| Share { share, of }).collect())
    }

    fn column(parts: impl IntoIterator<Item = (f32, Self)>) -> Self {
        Self::Column(parts.into_iter().map(|(share, of)| Share { share, of }).collect())
    }

    fn tabs(tabs: &[Tab]) -> Self {
        let front = tabs.iter().position(|&tab| tab == Tab::View(ViewId::Stacks)).unwrap_or(0);
        Self::Tabs { of: tabs.iter().map(|&tab| Part::Tab(tab).into()).collect(), front }
    }
}
