//! The variables of a step (R5): which of them a contract needs, which hold a secret, and which lead
//! to a service of the job (R26).

use super::expression::{Scope, Value as Known};
use super::{matrix, text_of};
use crate::declared::tree::DataFile;
use crate::front::tree::{Node, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Variables of a workflow, a job or a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Env {
    /// Those that hold for commands.
    pub(super) kept: BTreeMap<String, String>,
    /// All that are known, for expressions (`env.X`).
    pub(super) known: BTreeMap<String, String>,
    /// Those that hold a secret.
    pub(super) secrets: BTreeSet<String>,
    /// Those whose value is not known.
    pub(super) unknown: BTreeSet<String>,
}

impl Env {
    /// The context `env`: secrets are empty, and nothing is known of variables that a step exports.
    pub(super) fn context(&self) -> Known {
        let known = self.known.iter().map(|(k, v)| (k.clone(), Known::text(v)));
        let secrets = self.secrets.iter().map(|k| (k.clone(), Known::text("")));
        Known::Partial(known.chain(secrets).collect())
    }

    /// Adds the variables of `env:`; they win over those that are there.
    pub(super) fn add(
        &mut self,
        doc: &DataFile,
        node: Option<&Node>,
        scope: &Scope<'_>,
        machine_axes: &[String],
    ) {
        let Some(Value::Map(entries)) = node.map(|node| &node.value) else {
            return;
        };
        for (key, node) in entries {
            let name = key.name.clone();
            let raw = text_of(doc, node);
            self.kept.remove(&name);
            self.known.remove(&name);
            self.secrets.remove(&name);
            self.unknown.remove(&name);
            let secret = raw.contains("secrets.")
                || raw.contains("secrets[")
                || raw.contains("github.token");
            if secret {
                self.secrets.insert(name);
                continue;
            }
            let value = scope.fill(&raw);
            if value.contains("${{") {
                self.unknown.insert(name);
                continue;
            }
            let machine = machine_axes.iter().any(|axis| matrix::names(&raw, axis));
            if !is_noise(&name, &value) && (!machine || COMPILERS.contains(&&*name)) {
                self.kept.insert(name.clone(), value.clone());
            }
            self.known.insert(name, value);
        }
    }
}

/// Variables that choose a compiler: their axis is one of toolchains, and a build needs them.
const COMPILERS: &[&str] = &["AR", "CC", "CXX", "FC", "LD"];

/// Whether a variable concerns CI alone: tokens, caches, colour, telemetry.
fn is_noise(name: &str, value: &str) -> bool {
    const NAMES: &[&str] = &[
        "CARGO_INCREMENTAL",
        "CARGO_TERM_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "DEBIAN_FRONTEND",
        "FORCE_COLOR",
        "HOME",
        "LOGLEVEL",
        "MISE_TRUSTED_CONFIG_PATHS",
        "NO_COLOR",
        "PY_COLORS",
        "TERM",
    ];
    const STARTS: &[&str] = &[
        "ACTIONS_",
        "CARGO_NET_",
        "GITHUB_",
        "RUNNER_",
        "SCCACHE_",
        "CCACHE_",
        "TURBO_",
    ];
    const ENDS: &[&str] = &["_TOKEN", "_KEY", "_PASSWORD", "_SECRET"];
    let name_is_plain = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    !name_is_plain
        || NAMES.contains(&name)
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
        || name.contains("_CACHE")
        || name == "NODE_OPTIONS"
            && value.trim().starts_with("--max")
            && !value.trim().contains(' ')
        || value.contains(['\n', '\r'])
}

/// Secrets that only speed something up, or are there for limits of rates: a command with one of
/// them in its environment works without.
pub(super) fn is_harmless(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "CODECOV_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GITHUB_API_TOKEN",
        "MISE_GITHUB_TOKEN",
    ];
    NAMES.contains(&name)
        || ["TURBO_", "NX_", "SCCACHE_", "ACTIONS_"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.contains("_CACHE")
        || name.contains("CACHIX")
}

/// The services of a job, with the variables that lead to them.
pub(super) fn services(
    doc: &DataFile,
    job: &Node,
    env: &[&BTreeMap<String, String>],
    raw: &[(String, String)],
) -> Vec<(String, Vec<String>)> {
    let Some(Value::Map(services)) = job.get("services").map(|node| &node.value) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (key, service) in services {
        let name = key.name.clone();
        let lower = name.to_ascii_lowercase();
        let ports: Vec<String> = match service.get("ports").map(|node| &node.value) {
            Some(Value::List(items)) => items
                .iter()
                .map(|item| text_of(doc, item))
                .filter_map(|port| Some(port.split(['/', ':']).next()?.to_owned()))
                .collect(),
            _ => Vec::new(),
        };
        let image = service
            .get("image")
            .map(|i| text_of(doc, i))
            .unwrap_or_default();
        let image = image.split([':', '@']).next().unwrap_or_default();
        let image = image
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let leads = |variable: &str, value: &str| {
            let variable = variable.to_ascii_lowercase();
            let named = |word: &str| word.len() > 2 && variable.split('_').any(|part| part == word);
            let local = ["localhost", "127.0.0.1", "host.docker.internal"]
                .iter()
                .any(|host| value.contains(host));
            let port = ports
                .iter()
                .any(|port| !port.is_empty() && value.contains(&**port));
            local && (port || ports.is_empty())
                || port && value.trim().chars().all(|c| c.is_ascii_digit())
                || value.contains(&format!("@{lower}"))
                || value.contains(&format!("//{lower}"))
                || value == lower
                || value.contains(&format!("job.services.{name}."))
                || named(&lower)
                || named(&image)
                || image.starts_with("postgres")
                    && (variable.starts_with("pg") || variable == "database_url")
        };
        let mut variables: BTreeSet<String> = BTreeSet::new();
        for (variable, value) in env
            .iter()
            .flat_map(|env| env.iter())
            .chain(raw.iter().map(|(k, v)| (k, v)))
        {
            if leads(variable, value) {
                variables.insert(variable.clone());
            }
        }
        all.push((name, variables.into_iter().collect()));
    }
    all
}
