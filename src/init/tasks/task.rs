//! A task of a runner, as a file has it.

/// A task of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    pub line: u32,
    /// Its commands as shell text, with the line of each.
    pub commands: Vec<(u32, String)>,
    /// The tasks that run before it.
    pub needs: Vec<String>,
    /// The folder that its commands enter, where that is not in them.
    pub(super) dir: String,
}

impl Task {
    pub(super) fn new(name: impl Into<String>, line: u32) -> Self {
        Self {
            name: name.into(),
            line,
            ..Self::default()
        }
    }
}
