//! Passes of other machines, in place of a step, and own ones for them.

use super::confirm::Expected;
use super::scan::InputScan;
use crate::shared::{FoundPass, MOST_CONTENT, SharedCache};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use vplan_base::canon::Digest;
use vplan_base::command::ToolchainCommand;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_check::evidence::EarlierPass;
use vplan_os::environment::{Environment, StepEnvironment};
use vplan_os::files::beneath::Beneath;
use vplan_os::parallel::locked;
use vplan_os::process::ask::{Ask, NoAnswer, ask};
use vplan_os::process::pool::Pool;
use vplan_os::process::program::{Root, message_of};
use vplan_os::process::writable::copy_in;
use vplan_os::scratch;
use vplan_plan::Step;
use vplan_reuse::entry::Product;
use vplan_reuse::key::{JUDGING, Parts, Print};
use vplan_reuse::shared::{self, SharedParts, SharedPass, SharedProduct, portable};

/// The time that a `toolchain` command has, and the most bytes that it may write.
const LIMIT: Duration = Duration::from_secs(10);
const MOST_WRITTEN: usize = 1 << 20;
/// The time in which passes are kept for others, once a run has ended.
const LIMIT_TO_SHARE: Duration = Duration::from_secs(300);
/// Variables of language and time that count in addition to those of the check.
const ALWAYS: [&[u8]; 4] = [b"LANG", b"TZ", b"CI", b"SOURCE_DATE_EPOCH"];
const LOCALE: &[u8] = b"LC_";

/// A store of passes, with what is known of this machine.
pub(super) struct Sharing<'a> {
    root: &'a Root,
    environment: &'a Environment,
    beneath: Beneath,
    cache: &'a SharedCache,
    pool: Pool,
    toolchains: Mutex<Toolchains>,
}

/// What commands wrote in this run, each by its digest, or why that is not known. None is remembered once something
/// has run that may have changed what is outside of the repository.
#[derive(Default)]
struct Toolchains {
    /// Since when ([`Outside::unchanged_since`](vplan_os::outside::Outside::unchanged_since)).
    since: Option<u64>,
    states: BTreeMap<Started, Result<Digest, NoAnswer>>,
}

/// A command, and its whole environment.
type Started = (ToolchainCommand, BTreeMap<Vec<u8>, Vec<u8>>);

/// What is known of a step's inputs.
pub(super) struct SeenInputs<'s> {
    pub parts: &'s Parts,
    pub files: &'s InputScan,
    /// The digest of what `unchanged` selects.
    pub held: Option<Digest>,
    /// Since when nothing may have changed what is outside of the repository, if nothing may now.
    pub since: Option<u64>,
}

/// The reason why a pass is not shared.
#[derive(Debug, thiserror::Error)]
enum Unshared {
    #[error("it may rest on more than it declares")]
    Undeclared,
    #[error("it inherits variables that it does not name")]
    Inherits,
    #[error("it was granted a secret")]
    Secret,
    #[error("toolchain `{0}`: {1}")]
    Toolchain(String, NoAnswer),
}

/// A pass that is to be kept for other machines.
pub(super) struct ToShare {
    pub parts: SharedParts,
    pub products: Vec<Product>,
    pub pass: EarlierPass,
}

impl<'a> Sharing<'a> {
    /// Shares by a store.
    ///
    /// # Errors
    /// The repository's root cannot be opened.
    pub(super) fn new(
        root: &'a Root,
        environment: &'a Environment,
        cache: &'a SharedCache,
    ) -> io::Result<Self> {
        Ok(Self {
            root,
            environment,
            beneath: Beneath::open(root.path())?,
            cache,
            pool: Pool::new(None),
            toolchains: Mutex::default(),
        })
    }

    /// Returns the remarks for the report's reader.
    pub(super) fn notes(&self) -> Vec<String> {
        self.cache.notes()
    }

    /// Returns what a pass of a step depends on wherever it runs; `None` for a step that is not
    /// shared. The reason is noted unless sharing was not requested.
    pub(super) fn parts(&self, step: &Step, seen: &SeenInputs<'_>) -> Option<SharedParts> {
        if !step.shared {
            return None;
        }
        let parts = self.portable_parts(step, seen);
        parts.map_err(|why| self.is_not_shared(&step.id, why)).ok()
    }

    /// Notes why a pass of a step is not shared.
    pub(super) fn is_not_shared(&self, id: &str, why: impl Display) {
        let id = visible(id);
        self.cache
            .note(format!("a pass of `{id}` is not shared: {why}"));
    }

    /// Whether own passes are kept for other machines.
    pub(super) fn is_written(&self) -> bool {
        self.cache.is_written()
    }

    fn portable_parts(&self, step: &Step, seen: &SeenInputs<'_>) -> Result<SharedParts, Unshared> {
        let enforced = step.confinement().guarantees();
        if !step.is_held_to_inputs(&enforced) {
            return Err(Unshared::Undeclared);
        }
        if self.environment.granted().inherited {
            return Err(Unshared::Inherits);
        }
        let environment = self.environment;
        let environment = environment.of_step(self.root, step.environment_request());
        if !environment.secrets.is_empty() {
            return Err(Unshared::Secret);
        }
        let mut toolchains = BTreeMap::new();
        for (name, command) in &step.toolchains {
            let state = self.toolchain(&environment, command, seen.since);
            let state = state.map_err(|why| Unshared::Toolchain(name.clone(), why))?;
            toolchains.insert(name.clone(), state);
        }
        let counts = |name: &[u8]| {
            ALWAYS.contains(&name)
                || name.starts_with(LOCALE)
                || environment.let_through.contains(name)
        };
        let variables = environment.variables.iter();
        let variables = variables.filter(|(name, _)| counts(name));
        let files = seen.files.files().map(|(path, file)| (path, &file.print));
        Ok(SharedParts {
            enforced,
            environment: variables
                .map(|(name, value)| (Word::new(name.clone()), Digest::hash(value)))
                .collect(),
            files: shared::files(files, seen.held.as_ref()),
            judging: JUDGING,
            platform: seen.parts.platform.clone(),
            predecessors: seen.parts.predecessors.clone(),
            scope: self.cache.scope().to_owned(),
            settings: seen.parts.settings.clone(),
            toolchains,
            tools: (seen.parts.tools.iter())
                .map(|tool| tool.digest.clone())
                .collect(),
            vplan: seen.parts.vplan.clone(),
        })
    }

    /// Returns the digest of what a `toolchain` command writes.
    fn toolchain(
        &self,
        environment: &StepEnvironment,
        command: &ToolchainCommand,
        since: Option<u64>,
    ) -> Result<Digest, NoAnswer> {
        let mut env = environment.variables.clone();
        let own = command.env.iter();
        env.extend(own.map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())));
        let mut known = locked(&self.toolchains);
        let started = (command.clone(), env);
        if since.is_none() || known.since != since {
            known.states.clear();
        }
        known.since = since;
        if let Some(state) = known.states.get(&started) {
            return state.clone();
        }
        let asked = Ask {
            root: self.root,
            search: &environment.search,
            argv: &command.argv,
            env: &started.1,
            question: b"",
            limit: LIMIT,
            most: MOST_WRITTEN,
            stop: None,
        };
        let state = ask(&self.pool, &asked).map(|said| Digest::hash(&said));
        known.states.insert(started, state.clone());
        state
    }

    /// Returns a pass of another machine that replaces a run of the step, once its outputs exist,
    /// and whether any of them was written.
    pub(super) fn find(
        &self,
        step: &Step,
        parts: &SharedParts,
    ) -> Option<(Box<EarlierPass>, bool)> {
        let key = parts.key();
        let id = visible(&step.id);
        let FoundPass { pass, signed_by } = self.cache.find(&key, &id)?;
        let restored = self.restore(step, &pass.products);
        let wrote = restored
            .map_err(|error| {
                let why = message_of(&error);
                tracing::debug!("the shared pass of `{id}` is not used: {why}");
            })
            .ok()?;
        let pass = EarlierPass {
            key: Some(key),
            scope: Some(parts.scope.clone()),
            signed_by: Some(signed_by),
            ..pass.pass
        };
        Some((Box::new(pass), wrote))
    }

    /// Returns the pass of another machine that a step which runs is compared with.
    pub(super) fn expected(&self, step: &Step, parts: &SharedParts) -> Option<Expected> {
        let id = visible(&step.id);
        let FoundPass { pass, signed_by } = self.cache.find(&parts.key(), &id)?;
        Some(Expected::others(pass, &signed_by))
    }

    /// Writes what a step makes, as another machine has made it: all of it, or nothing where a part is not
    /// there. Returns whether there was anything to write.
    fn restore(&self, step: &Step, products: &[SharedProduct]) -> io::Result<bool> {
        is_not_too_much(products)?;
        let mut wanted = Vec::new();
        for product in products {
            let path = &product.path;
            let is_own = step.produces.iter().any(|glob| glob.matches(path));
            let is_kept_out = |part: &[u8]| [&b".git"[..], b".vplan"].contains(&part);
            if !is_own || path.segments().any(is_kept_out) {
                return Err(io::Error::other(format!(
                    "`{path}` is nothing that it may make"
                )));
            }
            let content = product.print.content.as_ref();
            let content = content.filter(|_| product.print.link.is_none());
            let content = content.ok_or_else(|| no_file(path))?;
            if !self.is_there(product, content) {
                wanted.push((product, content));
            }
        }
        if wanted.is_empty() {
            return Ok(false);
        }
        let folder = scratch::temporary()?;
        let mut fetched = Vec::new();
        for (product, content) in wanted {
            let path = &product.path;
            let bytes = self.cache.content(content, product.size);
            let bytes = bytes.ok_or_else(|| io::Error::other(format!("`{path}` is not there")))?;
            let copy = folder.path().join(fetched.len().to_string());
            std::fs::write(&copy, bytes)?;
            let mode = std::fs::Permissions::from_mode(portable(&product.print).mode);
            std::fs::set_permissions(&copy, mode)?;
            fetched.push((path, copy));
        }
        for (path, copy) in fetched {
            copy_in(self.root, path, &copy)?;
        }
        Ok(true)
    }

    /// Whether a file is as another machine has made it.
    fn is_there(&self, product: &SharedProduct, content: &Digest) -> bool {
        let file = self.beneath.file(&product.path).ok();
        let mode = file.and_then(|file| file.metadata().ok());
        let mode = mode.map(|metadata| metadata.permissions().mode());
        let there = mode.map(|mode| Print {
            mode,
            ..product.print.clone()
        });
        there.is_some_and(|there| portable(&there) == portable(&product.print))
            && (self.beneath.read(&product.path, product.size))
                .is_ok_and(|there| Digest::hash(&there) == *content)
    }

    /// Keeps passes for other machines, until all are, `is_over` or the time is up.
    pub(super) fn share(
        &self,
        passes: impl Iterator<Item = ToShare>,
        is_over: &mut dyn FnMut() -> bool,
    ) {
        let begin = Instant::now();
        for pass in passes {
            let id = pass.pass.step.clone();
            if begin.elapsed() > LIMIT_TO_SHARE || is_over() {
                self.is_not_shared(&id, "nor are those that follow: there was no time");
                return;
            }
            if let Err(error) = self.share_one(pass) {
                self.is_not_shared(&id, message_of(&error));
            }
        }
    }

    fn share_one(&self, pass: ToShare) -> io::Result<()> {
        let ToShare {
            parts,
            products,
            pass,
        } = pass;
        let mut all = Vec::new();
        let mut paths = BTreeMap::new();
        for Product { path, print } in products {
            let (Some(content), None) = (&print.content, &print.link) else {
                return Err(no_file(&path));
            };
            let file = self.beneath.file(&path).ok();
            let size = file.and_then(|file| file.metadata().ok());
            let size = size.map(|metadata| metadata.len());
            let gone = || io::Error::other(format!("`{path}` cannot be read any more"));
            let size = size.ok_or_else(gone)?;
            paths.insert(content.clone(), (path.clone(), size));
            all.push(SharedProduct {
                print: portable(&print),
                path,
                size,
            });
        }
        is_not_too_much(&all)?;
        let content = |digest: &Digest| {
            let (path, size) = paths.get(digest).ok_or(io::ErrorKind::NotFound)?;
            let bytes = self.beneath.read(path, *size).map_err(io::Error::other)?;
            // It may have been written since.
            (Digest::hash(&bytes) == *digest)
                .then_some(bytes)
                .ok_or_else(|| io::Error::other(format!("`{path}` was written meanwhile")))
        };
        let pass = EarlierPass { key: None, ..pass };
        self.cache.keep(&SharedPass::new(parts, all, pass), content)
    }
}

fn is_not_too_much(products: &[SharedProduct]) -> io::Result<()> {
    let sizes = products.iter().map(|product| product.size);
    match sizes.fold(0, u64::saturating_add) > MOST_CONTENT {
        true => Err(io::Error::other("it made too much")),
        false => Ok(()),
    }
}

fn no_file(path: &RepoPath) -> io::Error {
    io::Error::other(format!("`{path}` is no file"))
}
