//! What executes steps elsewhere, as the operator asks for it.

use super::failure::Failure;
use super::open::Session;
use super::request::RemoteRequest;
use crate::away::seat::{Why, seats};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::effect::os::environment::{Environment, Grants};
use crate::effect::os::files::{is_program, may_lead_into};
use crate::effect::os::own_program::program;
use crate::effect::os::process::program::Root;
use crate::effect::runner::away::{Away, FolderTransport};
use crate::plan::Plan;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The scheme of the transport that copies folders.
const FOLDER: &str = "folder:";

/// Opens what carries steps elsewhere, if that is asked for.
///
/// # Errors
/// It is no address, or lies in the repository (exit 2); it cannot be used (exit 5).
pub(super) fn transport(
    session: &Session,
    asked: Option<&RemoteRequest>,
) -> Result<Option<FolderTransport>, Failure> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let usage =
        |message: String, help: &str| Failure::usage("vplan::usage::remote", message).help(help);
    let Some(dir) = asked.url.strip_prefix(FOLDER).filter(|dir| !dir.is_empty()) else {
        let url = visible(asked.url.as_bytes());
        return Err(usage(
            format!("`{url}` is nothing that carries steps elsewhere"),
            "`--remote folder:DIR` executes them in folders below DIR",
        ));
    };
    let dir = real(Path::new(OsStr::from_bytes(dir.as_bytes())))?;
    if may_lead_into(&dir, &session.site.root) || may_lead_into(&dir, &session.site.home) {
        let message = format!(
            "`{}` lies in the repository",
            visible(dir.as_os_str().as_bytes())
        );
        return Err(usage(message, "name a folder outside of it"));
    }
    let binary = match &asked.binary {
        Some(binary) => real(binary)?,
        None => program().map_err(|error| unusable("vplan itself", &error))?,
    };
    if asked.binary.is_some() && !is_program(&binary) {
        let shown = visible(binary.as_os_str().as_bytes());
        return Err(usage(
            format!("`{shown}` cannot be executed"),
            "`--remote-binary` names a vplan of this version",
        ));
    }
    Ok(Some(FolderTransport::new(dir, binary)))
}

/// Makes what executes steps elsewhere.
///
/// # Errors
/// The repository cannot be opened.
pub(super) fn away<'a>(
    root: &'a Root,
    environment: &'a Environment,
    transport: Option<&'a FolderTransport>,
    asked: Option<&RemoteRequest>,
) -> Result<Option<Away<'a>>, Failure> {
    let both = transport.zip(asked);
    let made = both.map(|(transport, asked)| {
        Away::new(
            root,
            environment,
            transport,
            (asked.jobs.max(1), asked.fall_back),
        )
    });
    made.transpose()
        .map_err(|error| unusable("the repository", &error))
}

/// Returns for each step of a plan, in plan order, why it would be executed here by a run with
/// `--remote`; `None` where it would not be. Nothing is asked.
///
/// # Errors
/// The repository cannot be opened.
pub fn places(session: &Session, plan: &Plan) -> Result<Vec<Option<Why>>, Failure> {
    let root = Root::open(&session.site.root);
    let root = root.map_err(|error| unusable("the repository", &error))?;
    let environment = Environment::of_this_process(&root, Grants::default());
    Ok(seats(plan, &|step| environment.kept_here(&root, step)))
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    let shown = visible(path.as_os_str().as_bytes());
    path.canonicalize().map_err(|error| {
        let message = format!("`{shown}` cannot be opened: {error}");
        Failure::usage("vplan::usage::remote", message)
            .help("the folder has to be there; tries make and remove folders of their own in it")
    })
}

fn unusable(what: &str, error: &std::io::Error) -> Failure {
    let message = format!("{what} cannot be opened: {error}");
    Failure::new(Exit::Setup, "vplan::away::unusable", message)
}
