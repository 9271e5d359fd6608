//! Builds the environment of a step from an allow-list, the contract, and the operator's grants.

use crate::process::mask::Secrets;
use crate::process::program::{Root, SearchPath};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStringExt as _;
use vplan_base::word::{Word, visible};
use vplan_check::environment::{EnvironmentRequest, EnvironmentUse, Withheld};

/// The allow-list, as `vplan help environment` prints it.
pub const ALLOW_LIST: &str = include_str!("environment.txt");

/// The variables that name the temporary folder: a confined step has its own.
pub const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Set for a confined step and a guarded fixer: a vplan that they start cannot record its run in the repository.
pub const CONFINED: &str = "VPLAN_SANDBOX";

type Variables = BTreeMap<Vec<u8>, Vec<u8>>;

/// The operator's grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// `--grant-env`: exact names, the second key to secrets and hooks.
    pub names: BTreeSet<String>,
    /// `--inherit-env`: everything passes. Recorded.
    pub inherit: bool,
    /// `--keep-capabilities`: steps of a privileged vplan keep the capabilities that affect other
    /// processes. Recorded.
    pub capabilities: bool,
}

/// The part of the environment that all steps share, made once a run.
#[derive(Clone, Debug)]
pub struct Environment {
    caller: Variables,
    passed: Variables,
    search: SearchPath,
    grants: Grants,
    lists: Lists,
}

/// The environment of a step.
#[derive(Clone, Debug, Default)]
pub struct StepEnvironment {
    /// All variables, PATH included.
    pub variables: Variables,
    /// The search path for its programs, from PATH.
    pub search: SearchPath,
    /// Values that were granted and must be masked.
    pub secrets: Secrets,
    /// The names of the variables that its `pass-env` lets through.
    pub let_through: BTreeSet<Vec<u8>>,
    /// Variables that it requested and does not get.
    pub withheld: Vec<Withheld>,
}

impl Environment {
    /// Takes the caller's variables.
    pub fn new(
        root: &Root,
        caller: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
        grants: Grants,
    ) -> Self {
        let caller: Variables = caller.into_iter().collect();
        let lists = Lists::parse(ALLOW_LIST);
        let passes = |name: &[u8]| {
            name != b"PATH"
                && (grants.inherit || (lists.pass.holds(name) && lists.guard(name).is_none()))
        };
        let passed = caller.iter().filter(|(name, _)| passes(name));
        let passed = passed.map(|(n, v)| (n.clone(), v.clone())).collect();
        let search = SearchPath::new(root, caller.get(&b"PATH"[..]).map(Vec::as_slice));
        Self {
            caller,
            passed,
            search,
            grants,
            lists,
        }
    }

    /// Takes the variables of this process.
    pub fn of_this_process(root: &Root, grants: Grants) -> Self {
        let own = std::env::vars_os().map(|(n, v)| (n.into_vec(), v.into_vec()));
        Self::new(root, own, grants)
    }

    /// Returns the directories that are searched for programs.
    pub fn search(&self) -> &SearchPath {
        &self.search
    }

    /// Returns the grants of the operator.
    pub fn granted(&self) -> EnvironmentUse {
        let granted = self.grants.names.iter().cloned().collect();
        let Grants {
            inherit: inherited,
            capabilities: capabilities_kept,
            ..
        } = self.grants;
        EnvironmentUse {
            capabilities_kept,
            granted,
            inherited,
            withheld: Vec::new(),
        }
    }

    /// Makes a step's environment: the allow-list, then the variables of `pass-env`, then its
    /// `env`, then PATH.
    pub fn of_step(&self, root: &Root, request: EnvironmentRequest<'_>) -> StepEnvironment {
        let EnvironmentRequest {
            pass_env,
            env,
            tool_path,
        } = request;
        let mut variables = self.passed.clone();
        let inherited = self.passed.iter().filter(|_| self.grants.inherit);
        let inherited = inherited.filter(|(name, _)| self.lists.secret.holds(name));
        let mut secrets: Vec<_> = inherited.map(|(_, value)| value.clone()).collect();
        let mut withheld = Vec::new();
        let mut let_through = BTreeSet::new();
        let asks = |name: &[u8]| {
            let mut asked = pass_env.iter();
            name != b"PATH" && asked.any(|pattern| matches(pattern.as_bytes(), name))
        };
        for (name, value) in self.caller.iter().filter(|(name, _)| asks(name)) {
            let granted = std::str::from_utf8(name).is_ok_and(|n| self.grants.names.contains(n));
            match self.lists.guard(name) {
                Some(why) if !granted && !self.grants.inherit => {
                    let shown = visible(name);
                    withheld.push(Withheld {
                        reason: format!("`{shown}` {why}: `--grant-env {shown}` lets it through"),
                        name: shown,
                    });
                }
                guarded => {
                    if granted || guarded.is_some() {
                        secrets.push(value.clone());
                    }
                    variables.insert(name.clone(), value.clone());
                    let_through.insert(name.clone());
                }
            }
        }
        let own = env.get("PATH");
        let own = own.map(|path| SearchPath::new(root, Some(path.as_bytes())));
        let search = own.as_ref().unwrap_or(&self.search);
        let search = search.with_tools(root, tool_path);
        let env = env.iter();
        variables.extend(env.map(|(n, v)| (n.clone().into_bytes(), v.as_bytes().to_vec())));
        variables.insert(b"PATH".to_vec(), search.to_value());
        StepEnvironment {
            variables,
            search,
            secrets: Secrets::new(secrets),
            let_through,
            withheld,
        }
    }

    /// Returns why the grants of a step keep it on this machine, if they do.
    pub fn kept_here(&self, root: &Root, request: EnvironmentRequest<'_>) -> Option<&'static str> {
        if self.grants.inherit {
            Some("it inherits variables that it does not name")
        } else if self.grants.capabilities {
            Some("it keeps privileges that it has here alone")
        } else {
            let is_secret = !self.of_step(root, request).secrets.is_empty();
            is_secret.then_some("it is granted a secret, which never leaves this machine")
        }
    }

    /// Returns the variables that go with a step to another machine: those that it requests and
    /// that are granted, except those that every machine has itself.
    pub fn carried(&self, of: &StepEnvironment) -> Vec<(Word, Word)> {
        let names = of.let_through.iter();
        let own = names.filter(|name| !self.passed.contains_key(*name));
        let carried = own.filter_map(|name| Some((name, self.caller.get(name)?)));
        carried
            .map(|(name, value)| (Word::new(name.clone()), Word::new(value.clone())))
            .collect()
    }

    /// Makes the environment of a step that another machine has sent. Requested variables come from
    /// there, all others from this machine.
    pub fn of_sent(
        root: &Root,
        own: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
        pass_env: &[String],
        carried: &[(Word, Word)],
    ) -> Self {
        let lists = Lists::parse(ALLOW_LIST);
        let asks = |name: &[u8]| {
            let mut asked = pass_env.iter();
            asked.any(|pattern| matches(pattern.as_bytes(), name)) && !lists.pass.holds(name)
        };
        let own = own.into_iter().filter(|(name, _)| !asks(name));
        let carried = carried
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        Self::new(root, own.chain(carried), Grants::default())
    }

    /// Makes a service's environment: the allow-list, then its own variables, then PATH.
    pub fn of_service(&self, root: &Root, written: &BTreeMap<String, Word>) -> StepEnvironment {
        self.of_step(root, plain(&[], written))
    }

    /// Makes a judge's environment: the allow-list, everything that the operator grants by name,
    /// the variables of its command, PATH.
    pub fn of_judge(&self, root: &Root, written: &BTreeMap<String, Word>) -> StepEnvironment {
        let granted: Vec<String> = self.grants.names.iter().cloned().collect();
        self.of_step(root, plain(&granted, written))
    }
}

/// A request without directories of tools.
fn plain<'a>(pass_env: &'a [String], env: &'a BTreeMap<String, Word>) -> EnvironmentRequest<'a> {
    EnvironmentRequest {
        pass_env,
        env,
        tool_path: &[],
    }
}

#[derive(Clone, Debug, Default)]
struct Lists {
    pass: Patterns,
    secret: Patterns,
    hook: Patterns,
}

#[derive(Clone, Debug, Default)]
struct Patterns {
    any_case: bool,
    patterns: Vec<&'static [u8]>,
}

impl Patterns {
    fn holds(&self, name: &[u8]) -> bool {
        let upper = self.any_case.then(|| name.to_ascii_uppercase());
        let name = upper.as_deref().unwrap_or(name);
        self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

impl Lists {
    fn parse(text: &'static str) -> Self {
        let mut lists = Self::default();
        lists.secret.any_case = true;
        let mut list = &mut lists.pass;
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|l| !l.is_empty() && !l.starts_with('#')) {
            match line {
                "[pass]" => list = &mut lists.pass,
                "[secret]" => list = &mut lists.secret,
                "[hook]" => list = &mut lists.hook,
                pattern => list.patterns.push(pattern.as_bytes()),
            }
        }
        lists
    }

    /// Returns why a name needs the second key, if it does.
    fn guard(&self, name: &[u8]) -> Option<&'static str> {
        if self.secret.holds(name) {
            Some("looks like a secret")
        } else if self.hook.holds(name) {
            Some("makes programs execute other code")
        } else {
            None
        }
    }
}

/// Whether a pattern, in which `*` matches any bytes, matches a whole name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|b| *b == b'*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.windows(part.len().max(1)).position(|w| w == part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None if part.is_empty() => {}
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn made(
        caller: &[(&str, &str)],
        grants: &[&str],
        inherit: bool,
        asked: &[&str],
        written: &[(&str, &str)],
    ) -> StepEnvironment {
        let root = Root::open(Path::new("/tmp")).unwrap();
        let grants = Grants {
            names: grants.iter().map(|s| (*s).to_owned()).collect(),
            inherit,
            ..Grants::default()
        };
        let caller = caller
            .iter()
            .map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec()));
        let environment = Environment::new(&root, caller, grants);
        let asked: Vec<String> = asked.iter().map(|s| (*s).to_owned()).collect();
        let written = written
            .iter()
            .map(|(n, v)| ((*n).to_owned(), Word::from(*v)))
            .collect();
        environment.of_step(&root, plain(&asked, &written))
    }

    fn names(of: &StepEnvironment) -> Vec<String> {
        of.variables
            .keys()
            .map(|n| String::from_utf8(n.clone()).unwrap())
            .collect()
    }

    const CALLER: &[(&str, &str)] = &[
        ("HOME", "/home/u"),
        ("LC_ALL", "C"),
        ("PATH", "/usr/bin:."),
        ("GITHUB_TOKEN", "ghp_0123456789"),
        ("my_password", "swordfish-1"),
        ("NODE_OPTIONS", "--require ./x.js"),
        ("MY_FLAG", "1"),
        ("AWS_REGION", "eu"),
    ];

    #[test]
    fn env_contract_alone_grants_nothing() {
        // Granted, inherited, requested; passed in addition to HOME, LC_ALL and PATH; withheld.
        for (grants, inherit, asked, passed, withheld) in [
            (&[][..], false, &[][..], "", ""),
            (&[], false, &["MY_FLAG"], "MY_FLAG", ""),
            (&[], false, &["MY_*"], "MY_FLAG", ""),
            (
                &[],
                false,
                &["GITHUB_TOKEN", "NODE_OPTIONS"],
                "",
                "GITHUB_TOKEN NODE_OPTIONS",
            ),
            (&["GITHUB_TOKEN"], false, &[], "", ""),
            (
                &["GITHUB_TOKEN"],
                false,
                &["GITHUB_TOKEN"],
                "GITHUB_TOKEN",
                "",
            ),
            (
                &["GITHUB_TOKEN"],
                false,
                &["*"],
                "GITHUB_TOKEN MY_FLAG",
                "AWS_REGION NODE_OPTIONS my_password",
            ),
            (&["NOT_THERE"], false, &["NOT_THERE"], "", ""),
            (
                &[],
                true,
                &[],
                "AWS_REGION GITHUB_TOKEN MY_FLAG NODE_OPTIONS my_password",
                "",
            ),
        ] {
            let made = made(CALLER, grants, inherit, asked, &[]);
            let beside: Vec<String> = names(&made)
                .into_iter()
                .filter(|n| !["HOME", "LC_ALL", "PATH"].contains(&n.as_str()))
                .collect();
            assert_eq!(beside.join(" "), passed, "{grants:?} {asked:?}");
            assert!(names(&made).len() == beside.len() + 3);
            let kept: Vec<String> = made.withheld.into_iter().map(|w| w.name).collect();
            assert_eq!(kept.join(" "), withheld, "{grants:?} {asked:?}");
        }
    }

    /// Checks that a step gets variables of the list, requested ones and written ones only, and no
    /// others.
    #[test]
    fn env_result_is_subset() {
        let lists = Lists::parse(ALLOW_LIST);
        for asked in [&[][..], &["MY_FLAG"], &["MY_*"], &["*"], &["GITHUB_TOKEN"]] {
            for grants in [&[][..], &["GITHUB_TOKEN"], &["my_password", "NODE_OPTIONS"]] {
                let made = made(CALLER, grants, false, asked, &[("WRITTEN", "1")]);
                for name in made.variables.keys() {
                    let is_asked = asked.iter().any(|a| matches(a.as_bytes(), name));
                    let guarded = lists.guard(name).is_some();
                    let granted = grants.iter().any(|g| g.as_bytes() == name.as_slice());
                    let by_request = is_asked && (!guarded || granted);
                    let always = name == b"PATH" || name == b"WRITTEN";
                    assert!(
                        lists.pass.holds(name) || by_request || always,
                        "{asked:?} {grants:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn env_order_irrelevant() {
        let mut backwards = CALLER.to_vec();
        backwards.reverse();
        let asked = ["MY_FLAG", "GITHUB_TOKEN"];
        let one = made(
            CALLER,
            &["GITHUB_TOKEN"],
            false,
            &asked,
            &[("A", "1"), ("B", "2")],
        );
        let two = made(
            &backwards,
            &["GITHUB_TOKEN"],
            false,
            &["GITHUB_TOKEN", "MY_FLAG"],
            &[("B", "2"), ("A", "1")],
        );
        assert_eq!(one.variables, two.variables);
    }

    #[test]
    fn granted_values_are_masked_and_written_ones_are_not() {
        let granted = made(
            CALLER,
            &["GITHUB_TOKEN"],
            false,
            &["GITHUB_TOKEN", "MY_FLAG"],
            &[("X_TOKEN", "written-down")],
        );
        assert_eq!(
            granted.secrets.mask_text("ghp_0123456789 written-down 1"),
            "*** written-down 1"
        );
        assert!(
            names(&granted).contains(&"X_TOKEN".to_owned()),
            "values written in the contract need no grant"
        );
        let inherited = made(CALLER, &[], true, &[], &[]);
        assert_eq!(
            inherited.secrets.mask_text("ghp_0123456789 swordfish-1"),
            "*** ***"
        );
    }

    #[test]
    fn the_path_is_the_one_that_is_searched() {
        let made = |written: &[(&str, &str)]| made(CALLER, &[], true, &["PATH"], written);
        assert_eq!(made(&[]).variables[&b"PATH"[..]], b"/usr/bin");
        assert_eq!(
            made(&[("PATH", "/bin:bin:/tmp/x")]).variables[&b"PATH"[..]],
            b"/bin"
        );
    }

    #[test]
    fn patterns() {
        for (pattern, name, want) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("A*", "A", true),
            ("*A", "BA", true),
            ("*A", "AB", false),
            ("*TOKEN*", "MY_TOKENS", true),
            ("A*B*C", "AxBBxC", true),
            ("A*B*C", "AxC", false),
            ("AB*BA", "ABA", false),
            ("*", "", true),
            ("**", "x", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                want,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn env_hook_names_refused() {
        let lists = Lists::parse(ALLOW_LIST);
        for name in [
            "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_TIME", "TZ", "TMPDIR", "TERM", "CI",
            "no_proxy",
        ] {
            assert!(
                lists.pass.holds(name.as_bytes()) && lists.guard(name.as_bytes()).is_none(),
                "{name}"
            );
        }
        for name in [
            "GITHUB_TOKEN",
            "npm_config__auth",
            "Db_PassWord",
            "AWS_PROFILE",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "SIGNING_KEY",
        ] {
            assert!(lists.secret.holds(name.as_bytes()), "{name}");
        }
        for name in [
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "BASH_ENV",
            "GIT_DIR",
            "RUSTC_WRAPPER",
            "BASH_FUNC_ls%%",
        ] {
            assert!(lists.hook.holds(name.as_bytes()), "{name}");
        }
    }
}
