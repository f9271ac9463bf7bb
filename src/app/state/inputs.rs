//! Short names of inputs.

use crate::load::Input;

/// File names without their folders.
pub fn short_name(inputs: &[Input]) -> String {
    let short = |input: &Input| match input {
        Input::File(path) => path.file_name().map_or_else(|| input.name(), |name| name.to_string_lossy().into_owned()),
        Input::Demo => "Demo trace".to_owned(),
    };
    inputs.iter().map(short).collect::<Vec<_>>().join(" + ")
}
