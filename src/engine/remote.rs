//! Opens the remote execution of steps, as the operator configures it.

#[cfg(feature = "remote")]
use super::address::{AddressFlags, remote};
use super::request::RemoteRequest;
use crate::{Engine, Failure, Plan, Root, Session, visible, visible_path};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
#[cfg(feature = "remote")]
use std::time::Duration;
use vplan_away::seat::{SeatReason, seats};
use vplan_os::environment::{Environment, Grants};
use vplan_os::files::is_program;
use vplan_os::own_program::program;
use vplan_runner::remote::{FolderTransport, RemoteExecution, Transport};
#[cfg(feature = "remote")]
use vplan_runner::remote::{ReapiSettings, ReapiTransport, UnusableServer};
use vplan_store::reuse::results::StoredResults;

/// Delay before the first repeated call after a server failed.
#[cfg(feature = "remote")]
const PAUSE: Duration = Duration::from_secs(1);

/// The scheme of the transport that copies folders.
const FOLDER: &str = "folder:";

/// Opens the transport of remote execution, if one is requested.
///
/// # Errors
/// It is not an address, or is in the repository (exit 2); it cannot be used (exit 5).
pub(super) fn transport(
    session: &Session,
    asked: Option<&RemoteRequest>,
) -> Result<Option<Transport>, Failure> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    #[cfg(feature = "remote")]
    if let Some(server) = server(session, asked)? {
        return Ok(Some(server));
    }
    let Some(dir) = asked.url.strip_prefix(FOLDER).filter(|dir| !dir.is_empty()) else {
        let url = visible(&asked.url);
        let message = format!("`{url}` is nothing that carries steps elsewhere");
        return Err(usage(message).help(format!("known here: {KNOWN}")));
    };
    let dir = real(Path::new(OsStr::from_bytes(dir.as_bytes())))?;
    outside(session, &dir).map_err(|refused| refused.help("name a folder outside of it"))?;
    let binary = binary(session, asked)?;
    Ok(Some(Transport::Folder(FolderTransport::new(dir, binary))))
}

/// Opens a server that executes steps, if the address is that of one, and requests its
/// capabilities.
#[cfg(feature = "remote")]
fn server(session: &Session, asked: &RemoteRequest) -> Result<Option<Transport>, Failure> {
    let flags = AddressFlags {
        flag: "--remote",
        code: "vplan::usage::remote",
        unreadable: "vplan::away::unusable",
        insecure: asked.insecure,
        headers: asked.headers.as_deref(),
        tls: &asked.tls,
        site: &session.site,
    };
    let Some(at) = remote(&asked.url, &flags)?.filter(|at| at.is_grpc) else {
        return Ok(None);
    };
    let server = ReapiTransport::new(ReapiSettings {
        insecure: asked.insecure && at.origin.starts_with("http:"),
        at,
        binary: binary(session, asked)?,
        properties: asked.properties.clone(),
        queue: asked.queue,
        pause: PAUSE,
    });
    let server = server.map_err(|error| unusable("the connection", &error))?;
    let checked = match server.check() {
        // As for one that stops answering later, the steps are executed here.
        Err(why @ UnusableServer::Unreachable(_)) if asked.fall_back => {
            return Ok(Some(Transport::Reapi(Box::new(server.given_up(&why)))));
        }
        checked => checked,
    };
    checked.map_err(|why| {
        let code = match why {
            UnusableServer::Unreachable(_) => "vplan::away::unreachable",
            UnusableServer::Refused(_) => "vplan::away::refused",
            UnusableServer::Capabilities(_) => "vplan::away::capabilities",
        };
        let url = visible(&asked.url);
        let message = format!("`{url}` cannot execute steps: {why}");
        Failure::setup(code, message).help("nothing has run")
    })?;
    Ok(Some(Transport::Reapi(Box::new(server))))
}

/// The supported forms of an address.
#[cfg(feature = "remote")]
const KNOWN: &str = "`folder:DIR`, `grpcs://HOST/INSTANCE` and `unix:SOCKET`";
#[cfg(not(feature = "remote"))]
const KNOWN: &str = "`folder:DIR` alone, since this vplan was built without `remote`";

/// Checks that a path is outside of the repository, so that a change cannot replace the program
/// that executes its steps.
fn outside(session: &Session, path: &Path) -> Result<(), Failure> {
    if session.site.may_hold(path) {
        let shown = visible_path(path);
        return Err(usage(format!("`{shown}` lies in the repository")));
    }
    Ok(())
}

/// Returns the vplan that executes steps.
fn binary(session: &Session, asked: &RemoteRequest) -> Result<PathBuf, Failure> {
    let Some(binary) = &asked.binary else {
        return program().map_err(|error| unusable("vplan itself", &error));
    };
    let binary = real(binary)?;
    outside(session, &binary).map_err(|refused| {
        refused.help("a change could replace it: name a vplan outside of the repository")
    })?;
    if is_program(&binary) {
        return Ok(binary);
    }
    let shown = visible_path(binary);
    Err(usage(format!("`{shown}` cannot be executed"))
        .help("`--remote-binary` names a vplan of this version"))
}

fn usage(message: String) -> Failure {
    Failure::usage("vplan::usage::remote", message)
}

/// Makes the remote execution for a run.
///
/// # Errors
/// The repository cannot be opened.
pub(super) fn open<'a>(
    (engine, session): (&Engine<'_>, &Session),
    root: &'a Root,
    environment: &'a Environment,
    transport: Option<&'a Transport>,
    asked: Option<&RemoteRequest>,
) -> Result<Option<RemoteExecution<'a>>, Failure> {
    let both = transport.zip(asked);
    let made = both.map(|(transport, asked)| {
        let state = engine.kept_state(&session.site).ok().flatten();
        let results = state.and_then(|state| StoredResults::find(&state));
        let stats = results.map(|results| results.stats());
        RemoteExecution::new(
            root,
            environment,
            transport,
            (asked.jobs.max(1), asked.fall_back),
            stats.unwrap_or_default(),
        )
    });
    made.transpose()
        .map_err(|error| unusable("the repository", &error))
}

/// Returns for each step of a plan, in plan order, why a run with `--remote` would execute it here;
/// `None` if it would not. Calls no server.
///
/// # Errors
/// The repository cannot be opened.
pub fn places(session: &Session, plan: &Plan) -> Result<Vec<Option<SeatReason>>, Failure> {
    let root = Root::open(&session.site.root);
    let root = root.map_err(|error| unusable("the repository", &error))?;
    let environment = Environment::of_this_process(&root, Grants::default());
    Ok(seats(plan, &|step| {
        environment.kept_here(&root, step.environment_request())
    }))
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    let shown = visible_path(path);
    path.canonicalize().map_err(|error| {
        let message = format!("`{shown}` cannot be opened: {error}");
        Failure::usage("vplan::usage::remote", message)
            .help("the folder has to be there; tries make and remove folders of their own in it")
    })
}

fn unusable(what: &str, error: &std::io::Error) -> Failure {
    let message = format!("{what} cannot be opened: {error}");
    Failure::setup("vplan::away::unusable", message)
}
