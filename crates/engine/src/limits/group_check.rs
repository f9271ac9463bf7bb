//! A group with a measured value and its limit.

use serde::Serialize;

use super::amount::Amount;
use crate::query::{Group, Measure, SourceLine};

/// A measured value and its limit. The field names are those of the machine interface.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Name of the measure.
    pub measure: &'static str,
    /// Measured value.
    pub value: Amount,
    /// Largest value allowed.
    pub limit: Amount,
    /// Whether the value exceeds the limit.
    pub broken: bool,
    /// Whether the value exceeds the limit and a baseline accepts that.
    pub accepted: bool,
    /// For a broken limit, the function with the largest share, and its amount.
    pub holder: Option<HolderOf>,
    /// `measure` as an enum; not serialized.
    #[serde(skip)]
    pub(super) kind: Measure,
}

/// A function and its share of a group.
#[derive(Clone, Debug, Serialize)]
pub struct HolderOf {
    /// Name, as frames are printed.
    pub function: String,
    /// Its source line with the largest share, if source lines are known.
    pub source: Option<SourceLine>,
    /// Its share, in the unit of the limit.
    pub value: Amount,
}

/// A group with one of its checked limits.
pub type GroupCheck = Group<Check>;
