//! The transport that has a server of the Remote Execution API execute tries, each as an action.
//!
//! The server's action cache is never trusted for a try: an action is unique by its nonce, is not
//! looked up, and must not be cached. Its exit code is ignored; only the answer counts.

mod root;

use super::back::{ANSWER, Back, Fetch, LOG, ORDER, OUT, WORK};
use super::lost::Lost;
use prost::Message;
use root::{ContentName, Tree, TreeEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tonic::Status;
use vplan_away::answer::LeftFile;
use vplan_away::blame::{Next, after, code};
use vplan_away::order::{MOST, MOST_BYTES, SentOrder, WorkOrder};
use vplan_base::path::RepoPath;
use vplan_base::unit::show_duration;
use vplan_base::word::{Word, visible};
use vplan_os::files::beneath::Beneath;
use vplan_os::files::{make_folders, read_plain};
use vplan_os::process::stop::{StopLevel, StopRequest};
use vplan_os::scratch;
use vplan_plan::Step;
use vplan_store::grpc::messages::{
    Any, Duration as Length, ExecuteOperationMetadata, ExecuteRequest, ExecuteResponse, Operation,
    Pair, Platform, ReapiAction, ReapiCommand, ReapiDigest, ReapiName, ServerCapabilities,
};
use vplan_store::grpc::{Connection, RemoteAddress, digest_of};

/// Time limit for connecting, and for the server's capabilities.
const CONNECT: Duration = Duration::from_secs(5);
/// The time in which a server answers that takes a cancellation.
const CANCEL: Duration = Duration::from_secs(2);
/// The time beyond its limit after which the server ends an action.
const OVERTIME: Duration = Duration::from_secs(30);
/// The time for which a content that was there is taken to be there still.
const THERE: Duration = Duration::from_secs(600);
/// Maximum number of resumes of an execution, and of repeated uploads.
const RESUMES: u32 = 3;
const UPLOADS: u32 = 2;
/// Limit by which a log may exceed the output that it stores, in bytes.
const MORE_LOG: u64 = 64 << 10;
/// Limit of a message from the server, in bytes.
const MOST_SAID: usize = 4096;
/// The variable that every machine has, for an action without its own.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const CAPABILITIES: &str = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities";
const EXECUTE: &str = "/build.bazel.remote.execution.v2.Execution/Execute";
const WAIT: &str = "/build.bazel.remote.execution.v2.Execution/WaitExecution";
const CANCEL_OPERATION: &str = "/google.longrunning.Operations/CancelOperation";
const QUEUED: i32 = 2;

/// The operator's settings for a server.
#[derive(Clone, Debug)]
pub struct ReapiSettings {
    /// The address of the server.
    pub at: RemoteAddress,
    /// Whether an unencrypted address is allowed.
    pub insecure: bool,
    /// The vplan that executes steps there.
    pub binary: PathBuf,
    /// The required properties of its machines: names and values.
    pub properties: Vec<(String, String)>,
    /// The time that a step may wait for one.
    pub queue: Duration,
    /// The delay before the first repeated call.
    pub pause: Duration,
}

/// Has a server execute tries.
#[derive(Debug)]
pub struct ReapiTransport {
    connection: Connection,
    settings: ReapiSettings,
    binary: OnceLock<Result<ContentName, Lost>>,
    /// The last time at which each content was known to be there.
    there: Mutex<BTreeMap<ContentName, Instant>>,
    /// The reason why nothing is sent, if there is one.
    down: Option<String>,
}

/// The reason why a server cannot be used. For people.
#[derive(Debug, thiserror::Error)]
pub enum UnusableServer {
    /// It does not answer.
    #[error("it does not answer: {0}")]
    Unreachable(String),
    /// It does not let this vplan in.
    #[error("it refuses: {0}")]
    Refused(String),
    /// It lacks a required capability.
    #[error("{0}")]
    Capabilities(String),
}

/// A content that a try needs.
enum Content<'c> {
    Bytes(&'c [u8]),
    File(&'c RepoPath),
    Binary,
}

/// All that a try needs there.
struct Input<'c> {
    action: ReapiDigest,
    contents: BTreeMap<ContentName, Content<'c>>,
}

/// How an execution ended.
enum ExecutionEnd {
    Done(Box<ExecuteResponse>),
    Failed(Status),
    Stopped,
    NoWorker,
}

impl ReapiTransport {
    /// Creates the transport, without a call to the server.
    ///
    /// # Errors
    /// The address is invalid; errors of the system.
    pub fn new(settings: ReapiSettings) -> io::Result<Self> {
        Ok(Self {
            connection: Connection::new(&settings.at, CONNECT)?,
            settings,
            binary: OnceLock::new(),
            there: Mutex::default(),
            down: None,
        })
    }

    /// Stops sending, because the server does not answer.
    pub fn given_up(self, why: &UnusableServer) -> Self {
        let down = Some(why.to_string());
        Self { down, ..self }
    }

    /// Returns the reason why nothing is sent, if there is one.
    pub(super) fn down(&self) -> Option<&str> {
        self.down.as_deref()
    }

    /// Asks the server whether it can execute steps.
    ///
    /// # Errors
    /// It cannot, or does not answer in time.
    pub fn check(&self) -> Result<(), UnusableServer> {
        let name = self.connection.instance.clone();
        let request = ReapiName { name };
        let asked = self.connection.ask(CAPABILITIES, request);
        let asked = async { tokio::time::timeout(CONNECT, asked).await };
        let can: ServerCapabilities = match self.connection.block_on(asked) {
            Ok(Ok(can)) => can,
            Ok(Err(status)) => {
                return Err(match i32::from(status.code()) {
                    code::UNAUTHENTICATED | code::PERMISSION_DENIED => {
                        UnusableServer::Refused(message(&status))
                    }
                    code::UNIMPLEMENTED => UnusableServer::Capabilities(message(&status)),
                    _ => UnusableServer::Unreachable(message(&status)),
                });
            }
            Err(_) => return Err(UnusableServer::Unreachable("its time was up".to_owned())),
        };
        let cannot = |what: &str| Err(UnusableServer::Capabilities(what.to_owned()));
        let (low, high) = (can.low_api_version, can.high_api_version);
        let major = |version: Option<vplan_store::grpc::messages::SemVer>| {
            version.map_or(2, |version| version.major)
        };
        if major(low) > 2 || major(high) < 2 {
            return cannot("it does not speak version 2 of the Remote Execution API");
        }
        match can.execution_capabilities {
            Some(execution) if execution.exec_enabled => match execution.digest_function {
                0 | 1 => Ok(()),
                _ => cannot("it names contents by other digests than SHA-256"),
            },
            _ => cannot("it executes nothing"),
        }
    }

    /// Returns the operator's settings that the report should mention.
    pub(super) fn remarks(&self) -> Vec<(&'static str, String)> {
        let ReapiSettings {
            insecure,
            properties,
            ..
        } = &self.settings;
        let mut remarks = Vec::new();
        if *insecure {
            let said = "others on the way could read and change what was sent for execution";
            remarks.push(("remote-insecure", said.to_owned()));
        }
        if !properties.is_empty() {
            let pairs = properties.iter();
            let pairs = pairs.map(|(name, value)| visible(format!("`{name}={value}`").as_bytes()));
            let pairs: Vec<String> = pairs.collect();
            let said = format!("machines were asked for that have {}", pairs.join(", "));
            remarks.push(("remote-property", said));
        }
        remarks
    }

    /// Executes an order on the server, and fetches the outcome.
    pub(super) fn carry(
        &self,
        sent: &SentOrder<'_>,
        beneath: &Beneath,
        stop: &StopRequest,
        began: &dyn Fn(),
    ) -> Result<Back<'_>, Lost> {
        let order = sent.order;
        let files = contents(order, sent.sizes);
        let binary = self.binary()?;
        let text = ContentName::new(sent.digest.clone(), sent.text.len() as u64);
        let tree = tree(order, &files, binary.clone(), text.clone());
        let platform = self.platform(&order.step);
        let command = command(platform.clone()).encode_to_vec();
        let limit = Duration::from_millis(order.limit_ms) + OVERTIME;
        let action = ReapiAction {
            command_digest: Some(digest_of(&command)),
            input_root_digest: Some(ReapiDigest::from(&tree.root)),
            timeout: Some(Length {
                seconds: i64::try_from(limit.as_secs() + 1).unwrap_or(i64::MAX),
                nanos: 0,
            }),
            do_not_cache: true,
            platform,
        };
        let action = action.encode_to_vec();
        let paths = order.files.iter().map(|(path, _)| path);
        let mut contents: Vec<(ContentName, Content<'_>)> = files
            .into_iter()
            .zip(paths)
            .filter_map(|(content, path)| Some((content?, Content::File(path))))
            .collect();
        let folders = tree.folders.0.iter();
        contents.extend(folders.map(|(name, bytes)| (name.clone(), Content::Bytes(bytes))));
        for bytes in [&command, &action] {
            contents.push((ContentName::hash(bytes), Content::Bytes(bytes)));
        }
        contents.push((text, Content::Bytes(sent.text.as_bytes())));
        contents.push((binary, Content::Binary));
        let input = Input {
            action: digest_of(&action),
            contents: contents.into_iter().collect(),
        };
        let response = self.execute(&input, beneath, stop, began)?;
        self.came(*response, order, stop)
    }

    /// Uploads the inputs of a try and executes it; repeats that after errors that may be
    /// temporary.
    fn execute(
        &self,
        input: &Input<'_>,
        beneath: &Beneath,
        stop: &StopRequest,
        began: &dyn Fn(),
    ) -> Result<Box<ExecuteResponse>, Lost> {
        let (mut uploads, mut resumes) = (0, 0);
        let mut operation = None;
        loop {
            if operation.is_none()
                && let Err(status) = self.upload(input, beneath, stop)
            {
                let again = resumes < RESUMES && after(status.code().into()) == Next::Resume;
                if !again || !self.pause(resumes, stop) {
                    return Err(lost(&status));
                }
                resumes += 1;
                continue;
            }
            let ended = self.watch(&mut operation, &input.action, stop, began)?;
            let status = match ended {
                ExecutionEnd::Done(response) => {
                    match response.status.as_ref().map_or(0, |s| s.code) {
                        code::OK => return Ok(response),
                        number => {
                            let message = response.status.map(|s| s.message).unwrap_or_default();
                            operation = None;
                            Status::new(number.into(), message)
                        }
                    }
                }
                ExecutionEnd::Stopped => return Err(Lost::Never("it was stopped".to_owned())),
                ExecutionEnd::NoWorker => {
                    let time = u64::try_from(self.settings.queue.as_millis()).unwrap_or(u64::MAX);
                    let time = show_duration(time);
                    let why = format!("no machine there took it within {time}");
                    return Err(Lost::Never(why));
                }
                ExecutionEnd::Failed(status) => status,
            };
            let number = i32::from(status.code());
            match after(number) {
                // The server no longer knows the operation.
                Next::Upload if operation.is_some() && number == code::NOT_FOUND => {
                    operation = None;
                    resumes += 1;
                    if resumes > RESUMES {
                        return Err(lost(&status));
                    }
                }
                Next::Resume if resumes < RESUMES && self.pause(resumes, stop) => resumes += 1,
                Next::Upload if uploads < UPLOADS => {
                    uploads += 1;
                    operation = None;
                    self.lock_present().clear();
                }
                _ => return Err(lost(&status)),
            }
        }
    }

    /// Waits before the next call. The time doubles with each call, and varies at random so that
    /// clients do not call at the same time. Returns whether no stop was requested meanwhile.
    fn pause(&self, before: u32, stop: &StopRequest) -> bool {
        let mut random = [0; 1];
        // Without random bytes, the delay is not varied.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let part = self.settings.pause * u32::from(random[0]) / 512;
        let time = (self.settings.pause + part) * (1 << before.min(RESUMES));
        self.connection.block_on(async {
            tokio::select! {
                () = stop.asked() => {}
                () = tokio::time::sleep(time) => {}
            }
        });
        stop.level() == StopLevel::Not
    }

    /// Uploads those contents of a try that are not there.
    fn upload(
        &self,
        input: &Input<'_>,
        beneath: &Beneath,
        stop: &StopRequest,
    ) -> Result<(), Status> {
        let now = Instant::now();
        let unknown: Vec<ContentName> = {
            let there = self.lock_present();
            let known = there
                .iter()
                .filter(|(_, last)| now.duration_since(**last) < THERE);
            let mut known = known.map(|(content, _)| content).peekable();
            // Both are in order: looking each up would take longer than all the rest.
            let mut is_known = |content: &ContentName| {
                while known.next_if(|known| *known < content).is_some() {}
                known.peek() == Some(&content)
            };
            let all = input.contents.keys();
            all.filter(|content| !is_known(content)).cloned().collect()
        };
        let digests: Vec<ReapiDigest> = unknown.iter().map(ReapiDigest::from).collect();
        let uploaded = async {
            let missing = self.connection.missing(&digests).await?;
            let all = unknown.iter().zip(&digests);
            let missing = all.filter(|(_, digest)| missing.contains(digest));
            let wanted = missing.filter_map(|(content, _)| {
                let bytes = input.contents.get(content)?;
                Some(self.bytes(content, bytes, beneath))
            });
            self.connection.upload(wanted).await
        };
        self.transfer(stop, uploaded)?;
        self.are_there(unknown);
        Ok(())
    }

    /// Sends or fetches, until it is stopped.
    fn transfer(
        &self,
        stop: &StopRequest,
        transferred: impl Future<Output = Result<(), Status>>,
    ) -> Result<(), Status> {
        self.connection.block_on(async {
            tokio::select! {
                biased;
                () = stop.asked() => Err(Status::cancelled("it was stopped")),
                done = transferred => done,
            }
        })
    }

    fn are_there(&self, contents: impl IntoIterator<Item = ContentName>) {
        let now = Instant::now();
        let known = contents.into_iter().map(|content| (content, now));
        self.lock_present().extend(known);
    }

    /// Reads a content, and checks its digest and size.
    fn bytes(
        &self,
        name: &ContentName,
        content: &Content<'_>,
        beneath: &Beneath,
    ) -> Result<Vec<u8>, Status> {
        let bytes = match content {
            Content::Bytes(bytes) => return Ok(bytes.to_vec()),
            Content::File(path) => beneath.read(path, MOST_BYTES).ok(),
            Content::Binary => read_plain(&self.settings.binary, MOST_BYTES).ok(),
        };
        let bytes = bytes.filter(|bytes| ContentName::hash(bytes) == *name);
        bytes.ok_or_else(|| {
            let what = match content {
                Content::File(path) => format!("`{path}`"),
                _ => "vplan itself".to_owned(),
            };
            Status::data_loss(format!("{what} was written while it was sent"))
        })
    }

    /// Executes an action, or resumes an operation, until it ends.
    fn watch(
        &self,
        operation: &mut Option<String>,
        action: &ReapiDigest,
        stop: &StopRequest,
        began: &dyn Fn(),
    ) -> Result<ExecutionEnd, Lost> {
        self.connection.block_on(async {
            let asked = stop.asked();
            tokio::pin!(asked);
            let queued = tokio::time::sleep(self.settings.queue);
            tokio::pin!(queued);
            let (mut has_begun, mut is_silent) = (false, false);
            let opened = async {
                match operation.clone() {
                    Some(name) => self.connection.listen(WAIT, ReapiName { name }).await,
                    None => {
                        let request = ExecuteRequest {
                            instance_name: self.connection.instance.clone(),
                            skip_cache_lookup: true,
                            action_digest: Some(action.clone()),
                        };
                        self.connection.listen(EXECUTE, request).await
                    }
                }
            };
            let mut stream = tokio::select! {
                biased;
                () = &mut asked => return Ok(ExecutionEnd::Stopped),
                () = &mut queued => return Ok(ExecutionEnd::NoWorker),
                opened = opened => match opened {
                    Ok(stream) => stream,
                    Err(status) => return Ok(ExecutionEnd::Failed(status)),
                },
            };
            loop {
                let next: Result<Option<Operation>, Status> = tokio::select! {
                    biased;
                    () = &mut asked => {
                        self.cancel(operation.as_deref()).await;
                        return Ok(ExecutionEnd::Stopped);
                    }
                    () = &mut queued, if !has_begun => {
                        // It may have waited for a machine until now, or have begun at once.
                        if is_silent {
                            has_begun = true;
                            began();
                            continue;
                        }
                        self.cancel(operation.as_deref()).await;
                        return Ok(ExecutionEnd::NoWorker);
                    }
                    next = stream.message() => next,
                };
                let told = match next {
                    Ok(Some(told)) => told,
                    Ok(None) => {
                        return Ok(ExecutionEnd::Failed(Status::unavailable("it said no more")));
                    }
                    Err(status) => return Ok(ExecutionEnd::Failed(status)),
                };
                if !told.name.is_empty() {
                    *operation = Some(told.name);
                }
                let stage = told.metadata.as_ref().map_or(0, stage_of);
                // Some servers never report the stage. Then the action's time counts once the
                // waiting time is up.
                is_silent = stage == 0;
                if !has_begun && (told.done || stage > QUEUED) {
                    has_begun = true;
                    began();
                }
                if told.done {
                    return Ok(match (told.error, told.response) {
                        (Some(error), _) => {
                            *operation = None;
                            ExecutionEnd::Failed(Status::new(error.code.into(), error.message))
                        }
                        (None, response) => {
                            let bytes = response.map(|any| any.value).unwrap_or_default();
                            match ExecuteResponse::decode(bytes.as_slice()) {
                                Ok(response) => ExecutionEnd::Done(Box::new(response)),
                                Err(error) => {
                                    ExecutionEnd::Failed(Status::cancelled(error.to_string()))
                                }
                            }
                        }
                    });
                }
            }
        })
    }

    async fn cancel(&self, operation: Option<&str>) {
        let Some(name) = operation.map(str::to_owned) else {
            return;
        };
        let cancelled = (self.connection).ask::<_, ReapiName>(CANCEL_OPERATION, ReapiName { name });
        // An action that is not cancelled ends by its time limit.
        let _ = tokio::time::timeout(CANCEL, cancelled).await;
    }

    /// Fetches the answer and the log.
    fn came(
        &self,
        response: ExecuteResponse,
        order: &WorkOrder,
        stop: &StopRequest,
    ) -> Result<Back<'_>, Lost> {
        let result = response.result.unwrap_or_default();
        let worker = result.execution_metadata.map(|about| about.name);
        let file = |name: &str| {
            let file = result.output_files.iter().find(|file| file.name == name);
            file.and_then(|file| file.digest.clone())
        };
        let no_answer = || {
            let exit = result.exit_code;
            Lost::Again(format!(
                "it left no answer, and ended there with exit code {exit}"
            ))
        };
        let answer = file(ANSWER).filter(|digest| fits(digest, MOST));
        let answer = answer.ok_or_else(no_answer)?;
        let most = order.max_output.saturating_add(MORE_LOG);
        let log = file(LOG).filter(|digest| fits(digest, most));
        let mut contents = BTreeMap::new();
        let digests = log.iter().chain([&answer]).cloned().collect();
        self.take(digests, stop, |digest, bytes| {
            contents.insert(digest, bytes);
            Ok(())
        })?;
        let folder = scratch::temporary()?;
        std::fs::create_dir(folder.path().join(OUT))?;
        if let Some(log) = log.and_then(|log| contents.get(&log)) {
            std::fs::write(folder.path().join(LOG), log)?;
        }
        let answer = contents.remove(&answer).unwrap_or_default();
        let worker = worker.filter(|worker| !worker.is_empty());
        Ok(Back {
            answer,
            folder: folder.path().to_owned(),
            _held: Box::new(folder),
            engine: "reapi",
            worker: worker.map(|worker| visible(clipped(&worker).as_bytes())),
            products: Some(self),
        })
    }

    /// Fetches contents.
    fn take(
        &self,
        digests: BTreeSet<ReapiDigest>,
        stop: &StopRequest,
        mut take: impl FnMut(ReapiDigest, Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Lost> {
        let take = |digest, bytes| {
            take(digest, bytes).map_err(|error| Status::internal(error.to_string()))
        };
        let fetched = self.transfer(stop, self.connection.fetch(digests, take));
        fetched.map_err(|status| {
            // A server that has lost this content may have lost more.
            self.lock_present().clear();
            Lost::Again(message(&status))
        })
    }

    /// Returns the required properties of a machine: those of the contract, overridden by the
    /// operator's.
    fn platform(&self, step: &Step) -> Option<Platform> {
        let mut properties = step.machine().map_or_else(BTreeMap::new, |machine| {
            let properties = machine.properties.iter();
            properties.collect::<BTreeMap<_, _>>()
        });
        let own = self.settings.properties.iter();
        properties.extend(own.map(|(name, value)| (name, value)));
        let properties = properties.into_iter();
        let properties: Vec<Pair> = properties
            .map(|(name, value)| Pair {
                name: name.clone(),
                value: value.clone(),
            })
            .collect();
        (!properties.is_empty()).then_some(Platform { properties })
    }

    /// Returns the digest of the vplan that executes steps there.
    fn binary(&self) -> Result<ContentName, Lost> {
        let binary = self.binary.get_or_init(|| {
            let bytes = read_plain(&self.settings.binary, MOST_BYTES);
            bytes
                .map(|bytes| ContentName::hash(&bytes))
                .map_err(|error| {
                    let path = visible(self.settings.binary.as_os_str().as_encoded_bytes());
                    Lost::Never(format!("`{path}` cannot be read: {error}"))
                })
        });
        binary.clone()
    }

    fn lock_present(&self) -> std::sync::MutexGuard<'_, BTreeMap<ContentName, Instant>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetch for ReapiTransport {
    fn fetch(&self, left: &[LeftFile], to: &Path, stop: &StopRequest) -> Result<(), Lost> {
        let mut places: BTreeMap<ReapiDigest, Vec<&RepoPath>> = BTreeMap::new();
        let mut fetched = Vec::new();
        for LeftFile { path, print, size } in left {
            if let Some(content) = &print.content {
                let content = ContentName::new(content.clone(), *size);
                places
                    .entry(ReapiDigest::from(&content))
                    .or_default()
                    .push(path);
                fetched.push(content);
            }
        }
        let digests: BTreeSet<ReapiDigest> = places.keys().cloned().collect();
        self.take(digests, stop, |digest, bytes| {
            for path in places.get(&digest).into_iter().flatten() {
                let to = to.join(path.to_os());
                to.parent().map_or(Ok(()), make_folders)?;
                std::fs::write(to, &bytes)?;
            }
            Ok(())
        })?;
        // Whoever uses them next need not send them again.
        self.are_there(fetched);
        Ok(())
    }
}

/// Returns the command of an action.
fn command(platform: Option<Platform>) -> ReapiCommand {
    ReapiCommand {
        arguments: ["vplan/vplan", "step", ORDER].map(str::to_owned).to_vec(),
        environment_variables: vec![Pair {
            name: "PATH".to_owned(),
            value: PATH.to_owned(),
        }],
        platform,
        output_paths: [ANSWER, LOG, OUT].map(str::to_owned).to_vec(),
    }
}

/// Returns the names of the contents of an order's files, in its order; `None` for symlinks.
fn contents(order: &WorkOrder, sizes: &[u64]) -> Vec<Option<ContentName>> {
    let files = order.files.iter().zip(sizes);
    let contents = files.map(|((_, print), size)| {
        let content = print.content.as_ref()?;
        Some(ContentName::new(content.clone(), *size))
    });
    contents.collect()
}

/// Returns the tree of all that an action is given.
fn tree(
    order: &WorkOrder,
    contents: &[Option<ContentName>],
    binary: ContentName,
    text: ContentName,
) -> Tree {
    let below = |folder: &str, path: &RepoPath| {
        let path = [folder.as_bytes(), path.as_bytes()].join(&b'/');
        RepoPath::parse(&path).unwrap_or_default()
    };
    let files = order.files.iter().zip(contents);
    let files = files.filter_map(|((path, print), content)| {
        let entry = match &print.link {
            Some(target) => {
                TreeEntry::Link(String::from_utf8_lossy(Word::as_bytes(target)).into_owned())
            }
            None => TreeEntry::File {
                content: content.clone()?,
                is_executable: print.mode & 0o100 != 0,
            },
        };
        Some((below(WORK, path), entry))
    });
    let mut entries: Vec<(RepoPath, TreeEntry)> = files.collect();
    for (path, content, is_executable) in [("vplan/vplan", binary, true), (ORDER, text, false)] {
        let entry = TreeEntry::File {
            content,
            is_executable,
        };
        let path = RepoPath::parse(path.as_bytes());
        entries.extend(path.ok().map(|path| (path, entry)));
    }
    let dir = match order.step.dir.is_root() {
        true => RepoPath::parse(WORK.as_bytes()).unwrap_or_default(),
        false => below(WORK, &order.step.dir),
    };
    let is_empty = entries.iter().all(|(path, _)| path.below(&dir).is_none());
    entries.extend(is_empty.then_some((dir, TreeEntry::Folder)));
    Tree::from_entries(entries)
}

fn fits(digest: &ReapiDigest, most: u64) -> bool {
    u64::try_from(digest.size_bytes).is_ok_and(|size| size <= most)
}

fn stage_of(metadata: &Any) -> i32 {
    let metadata = ExecuteOperationMetadata::decode(metadata.value.as_slice());
    metadata.map_or(0, |metadata| metadata.stage)
}

fn clipped(text: &str) -> &str {
    let end = (0..=text.len().min(MOST_SAID)).rev();
    let end = end.into_iter().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns the server's message, for people.
fn message(status: &Status) -> String {
    let message = visible(clipped(status.message()).as_bytes());
    format!("{:?}: {message}", status.code())
}

fn lost(status: &Status) -> Lost {
    match after(status.code().into()) {
        Next::Never => Lost::Never(message(status)),
        Next::Resume | Next::Upload | Next::Order => Lost::Again(message(status)),
    }
}
