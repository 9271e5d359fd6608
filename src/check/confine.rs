//! The levels at which a step is confined, what each guarantees, and which is stronger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;

/// What a step is kept from, and what it is not: the text of `vplan help sandbox`.
pub const PAGE: &str = concat!(
    include_str!("sandbox.md"),
    "\n```text\n",
    include_str!("toolchains.txt"),
    "```\n"
);

/// The folders and files outside of the repository that every step may read whose reads are declared,
/// a path a line: the list at the end of `vplan help sandbox`.
const TOOLCHAINS: &str = include_str!("toolchains.txt");

/// Returns the paths in that list.
pub fn toolchains() -> impl Iterator<Item = &'static str> {
    TOOLCHAINS.lines().filter(|line| line.starts_with('/'))
}

/// Whether a path is one of them or below one, and so is readable at each level on every machine.
pub fn is_toolchain(path: &str) -> bool {
    let mut roots = toolchains();
    let is_plain = !path.split('/').any(|part| part == "..");
    is_plain
        && roots.any(|root| {
            let below = path.strip_prefix(root);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

vplan_base::vocabulary! {
    /// The level at which a step is confined. A later one is stronger: it has all guarantees of the ones
    /// before.
    #[derive(Default)]
    SandboxLevel {
        /// Not at all.
        #[default]
        None = "none",
        /// It changes nothing but what it declares, and cannot tamper with vplan.
        Guard = "guard",
        /// It reads nothing but what it declares, besides.
        Files = "files",
        /// Nothing exists for it but what it declares, besides, and nothing of it is left.
        Sealed = "sealed",
    }
}

impl SandboxLevel {
    /// Returns what it guarantees, sorted.
    pub const fn guarantees(self) -> &'static [Guarantee] {
        match self {
            SandboxLevel::None => &[],
            SandboxLevel::Guard => &[
                Guarantee::NoPrivileges,
                Guarantee::NoTampering,
                Guarantee::OnlyDeclared,
            ],
            SandboxLevel::Files => &[
                Guarantee::NoPrivileges,
                Guarantee::NoTampering,
                Guarantee::DeclaredReads,
                Guarantee::OnlyDeclared,
            ],
            SandboxLevel::Sealed => &[
                Guarantee::Absence,
                Guarantee::NoPrivileges,
                Guarantee::NoSurvivor,
                Guarantee::NoTampering,
                Guarantee::DeclaredReads,
                Guarantee::Sockets,
                Guarantee::OnlyDeclared,
            ],
        }
    }

    /// Returns the networks that a step may use under it by default.
    pub const fn usual_network(self) -> NetworkUse {
        match self {
            SandboxLevel::Sealed => NetworkUse::Off,
            SandboxLevel::None | SandboxLevel::Guard | SandboxLevel::Files => NetworkUse::On,
        }
    }
}

vplan_base::vocabulary! {
    /// The networks that a step may use. A later one lets it use less.
    #[derive(Default)]
    NetworkUse {
        /// All.
        #[default]
        On = "on",
        /// That between its own processes: a loopback of its own, and nothing else.
        Loopback = "loopback",
        /// None: no socket but those within the machine that have a path or a name.
        Off = "off",
    }
}

impl NetworkUse {
    /// Returns what it guarantees. That of a later one includes that of the ones before.
    pub const fn guarantee(self) -> Option<Guarantee> {
        match self {
            NetworkUse::On => None,
            NetworkUse::Loopback => Some(Guarantee::NetworkLoopback),
            NetworkUse::Off => Some(Guarantee::NetworkOff),
        }
    }
}

vplan_base::vocabulary! {
    /// Something that the system makes sure of while a step runs.
    Guarantee {
        /// What it does not declare does not exist for it: no file, no process, no name of the host.
        Absence = "absence",
        /// It uses no network but a loopback of its own, on which nobody else is. By the setting `network`,
        /// at every level.
        NetworkLoopback = "network-loopback",
        /// It uses no network. By the setting `network`, at every level.
        NetworkOff = "network-off",
        /// It gains no rights by what it executes, and has none over other processes as root.
        NoPrivileges = "no-privileges",
        /// Nothing that it starts outlives it, whoever is killed.
        NoSurvivor = "no-survivor",
        /// It signals, traces and changes no process outside of the step, and writes neither `.git` nor
        /// what vplan keeps.
        NoTampering = "no-tampering",
        /// It reads no content of the repository but what `inputs`, `requires`, `unchanged` and what it may
        /// change select, and nothing elsewhere but toolchains and what `reads` names.
        DeclaredReads = "reads",
        /// It reaches no socket of another process by an abstract name, nor by a path, unless that lies in what
        /// it declares to read.
        Sockets = "sockets",
        /// It makes, changes and removes only what `writes`, `produces`, `cleans` and `report` select, and
        /// its own temporary folder.
        OnlyDeclared = "writes",
    }
}

impl Guarantee {
    /// Says what it means, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Guarantee::Absence => "what is not declared does not exist",
            Guarantee::NoSurvivor => "nothing outlives it, whoever is killed",
            Guarantee::Sockets => "no socket of another process that is not declared is reached",
            Guarantee::NetworkLoopback => "no network but a loopback of its own",
            Guarantee::NetworkOff => "no network",
            Guarantee::NoPrivileges => "no rights are gained by what is executed",
            Guarantee::NoTampering => {
                "no process outside of the step is signalled, traced or changed"
            }
            Guarantee::DeclaredReads => "only declared files are read",
            Guarantee::OnlyDeclared => "only declared files are made, changed and removed",
        }
    }
}

/// What a step may read outside of the repository, by its settings.
#[derive(Clone, Copy, Debug)]
pub struct OutsideRequest<'a> {
    /// The first word of its command.
    pub program: Option<&'a Word>,
    /// Its working directory.
    pub dir: &'a RepoPath,
    /// Its `reads`.
    pub reads: &'a [String],
}

/// How a step is confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confinement {
    pub level: SandboxLevel,
    /// The network that it may use.
    pub network: NetworkUse,
}

impl Confinement {
    /// Whether nothing is requested.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns all that is guaranteed under it, sorted.
    pub fn guarantees(self) -> Vec<Guarantee> {
        let level = self.level.guarantees().iter().copied();
        let mut all: Vec<Guarantee> = self.network.guarantee().into_iter().chain(level).collect();
        all.sort_unstable();
        all
    }

    /// Returns the stronger of both in each part.
    pub fn and(self, other: Self) -> Self {
        Self {
            level: self.level.max(other.level),
            network: self.network.max(other.network),
        }
    }
}

/// What a step was asked to be confined to, and what held, in its report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Confined {
    /// The level that was asked for.
    pub asked: SandboxLevel,
    /// The guarantees of it that did not hold, sorted: there are some only with `--sandbox-missing run`.
    pub missing: Vec<Guarantee>,
    /// The network that it might use.
    pub network: NetworkUse,
    /// The guarantees that held, sorted.
    pub reached: Vec<Guarantee>,
}

impl Confined {
    /// Whether it can be the record of a step that was to be confined like this.
    pub fn is_of(&self, wanted: Confinement) -> bool {
        let asked = Confinement {
            level: self.asked,
            network: self.network,
        };
        let mut accounted: Vec<Guarantee> = [&self.reached[..], &self.missing].concat();
        accounted.sort_unstable();
        asked.and(wanted) == asked && accounted == asked.guarantees()
    }
}

/// How far it is known that a step depends on its `inputs` and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputsBasis {
    /// The contract says so. A step that may read what it wrote in an earlier run depends on that, too.
    Believed,
    /// All that it did was seen, and `vplan audit` holds the contract against it.
    Observed,
    /// It could read no other content: the guarantee `reads` held, and it declares nothing that it may
    /// change, which would stay until a later run, or it was sealed, so that nothing of that stays.
    Enforced,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stronger_level_has_all_guarantees_of_a_weaker_one() {
        for (weaker, stronger) in SandboxLevel::ALL.iter().zip(&SandboxLevel::ALL[1..]) {
            assert!(weaker < stronger);
            let of = |level: &SandboxLevel| level.guarantees().to_vec();
            assert!(of(weaker).iter().all(|one| of(stronger).contains(one)));
        }
        for level in SandboxLevel::ALL {
            for network in NetworkUse::ALL {
                let one = Confinement { level, network };
                assert!(one.guarantees().is_sorted());
                assert_eq!(one.is_none(), one.guarantees().is_empty());
                assert_eq!(one.and(Confinement::default()), one);
            }
        }
    }
}
