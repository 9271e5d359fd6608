//! A machine: the requirements of a remote step, for a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of properties of a machine.
pub const MOST_PROPERTIES: usize = 32;

/// `on`: where a step is executed that may be executed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum On {
    /// Here, wherever other steps are executed.
    Here,
    /// On a machine like this.
    Machine(Machine),
}

/// A machine that a server has: its name is the contract's, its properties are what the server knows it by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The values of its properties, by name.
    pub properties: BTreeMap<String, String>,
}

impl On {
    /// The word for the machine that vplan itself runs on.
    pub const HERE: &'static str = "here";

    /// Returns the word after `on`.
    pub fn word(&self) -> &str {
        match self {
            On::Here => Self::HERE,
            On::Machine(machine) => &machine.name,
        }
    }

    /// Returns the machine to request from a server, if one is named.
    pub fn machine(&self) -> Option<&Machine> {
        match self {
            On::Here => None,
            On::Machine(machine) => Some(machine),
        }
    }
}
