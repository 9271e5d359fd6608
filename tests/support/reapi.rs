//! A server of the Remote Execution API in this process, which does wrong what it is told to.

use prost::Message;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command as Program, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, watch};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http;
use tonic::codegen::tokio_stream::StreamExt as _;
use tonic::codegen::tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::server::Grpc;
use tonic::transport::ServerTlsConfig;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use vplan::away::answer::StepAnswer;
use vplan::away::order::WorkOrder;
use vplan::base::canon;
use vplan::effect::store::grpc::messages::*;

/// What the server does wrong with an execution, or with what belongs to it.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Ends the stream after so many messages: before it says anything, when it is queued, when it runs.
    Cut(usize),
    /// Breaks the stream there.
    Broken(usize),
    /// Has forgotten the operation by the time it is asked for again, once the stream was cut there.
    Forgotten(usize),
    /// Refuses to execute, with a status.
    Refused(i32),
    /// Ends the operation with an error.
    Error(i32),
    /// Executes, and ends the response with a status.
    Ended(i32),
    /// Says that it is done, and nothing more.
    NoResponse,
    /// Responds with what is no response.
    Garbage,
    /// Did not execute it, and says that all is well.
    Empty,
    /// Gives the result of the execution before.
    Earlier,
    /// Changes the answer.
    Answer(fn(&mut StepAnswer)),
    /// Cuts the answer off: so many thousandths of it are left.
    Torn(usize),
    /// The answer has another content than its digest says.
    Misnamed,
    /// Sends contents with one bit turned, in its place of each content, in thousandths.
    Turned(usize),
    /// Sends contents without their last byte.
    Short,
    /// Sends contents and another byte.
    Long,
    /// Loses the contents of the outputs before they are fetched.
    Evicted,
    /// Loses what the execution needs.
    LostInputs,
    /// Says that it has what it has not.
    HasAll,
    /// Says that it has nothing.
    HasNothing,
    /// Does not take so many contents, with a status.
    NoUpload(i32, usize),
    /// Does not answer what it is asked of contents.
    Silent,
    /// Never finds a machine.
    Queued,
    /// Does not say how far it is.
    NoStage,
    /// Says that it executes nothing.
    NoExecution,
    /// Speaks an API of the future.
    Api3,
    /// Names contents by another digest.
    OtherDigests,
    /// Does not know who asks.
    Unknown,
}

/// What executes actions: the order, and what each file that the step left contains.
pub type Worker = fn(&WorkOrder) -> (StepAnswer, Vec<Vec<u8>>);

type Contents = BTreeMap<ReapiDigest, Vec<u8>>;

#[derive(Default)]
struct State {
    asked: Mutex<Option<Instant>>,
    contents: Mutex<Contents>,
    /// What is wrong with each execution; the last one stays.
    faults: Mutex<Vec<Option<Fault>>>,
    /// So many contents were refused.
    refused: AtomicUsize,
    operations: Mutex<BTreeMap<String, watch::Receiver<Option<ExecuteResponse>>>>,
    running: Mutex<BTreeMap<String, Child>>,
    queued: Mutex<Vec<watch::Sender<Option<ExecuteResponse>>>>,
    cancelled: AtomicUsize,
    /// So many operations had a name.
    named: AtomicUsize,
    executed: AtomicUsize,
    waited: AtomicUsize,
    uploaded: AtomicUsize,
    read: AtomicUsize,
    earlier: Mutex<ActionResult>,
    properties: Mutex<Vec<Pair>>,
    worker: Option<Worker>,
    /// Whether the part of it that is asked has no name.
    is_unnamed: AtomicBool,
}

/// The server, as long as it is held.
pub struct Server {
    /// Where it is.
    pub url: String,
    state: Arc<State>,
    _stop: oneshot::Sender<()>,
}

const PACKAGE: &str = "/build.bazel.remote.execution.v2.";

fn digest_of(bytes: &[u8]) -> ReapiDigest {
    ReapiDigest {
        hash: canon::Digest::hash(bytes).hex(),
        size_bytes: i64::try_from(bytes.len()).unwrap(),
    }
}

impl Server {
    /// Starts one that executes actions as they are.
    pub fn real() -> Self {
        Self::start(None, None)
    }

    /// Starts one whose answers are made up.
    pub fn made_up(worker: Worker) -> Self {
        Self::start(Some(worker), None)
    }

    /// Starts one that is known by a certificate, and executes actions as they are.
    pub fn with_tls(tls: ServerTlsConfig) -> Self {
        Self::start(None, Some(tls))
    }

    fn start(worker: Option<Worker>, tls: Option<ServerTlsConfig>) -> Self {
        let state = Arc::new(State {
            worker,
            ..State::default()
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let scheme = if tls.is_some() { "grpcs" } else { "grpc" };
        let url = format!("{scheme}://{}/fake", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let service = Calls(Arc::clone(&state));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let incoming = TcpListenerStream::new(listener)
                    .map(|stream| stream.inspect(|stream| stream.set_nodelay(true).unwrap()));
                let plain = tonic::transport::Server::builder();
                let serving = match tls {
                    Some(tls) => plain.tls_config(tls).unwrap(),
                    None => plain,
                };
                tokio::select! {
                    served = serving.serve_with_incoming(service, incoming) => served.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self {
            url,
            state,
            _stop: stop,
        }
    }

    /// What is wrong with the executions from now on, one after the other; the last one stays.
    pub fn fails(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        *self.state.faults.lock().unwrap() = faults.into_iter().collect();
        self.state.executed.store(0, Ordering::SeqCst);
        self.state.refused.store(0, Ordering::SeqCst);
    }

    /// The part of it that is asked has no name from now on.
    pub fn forgets_its_name(&self) {
        self.state.is_unnamed.store(true, Ordering::SeqCst);
    }

    /// So many executions were asked for.
    pub fn executed(&self) -> usize {
        self.state.executed.load(Ordering::SeqCst)
    }

    /// So often an operation was asked for again.
    pub fn waited(&self) -> usize {
        self.state.waited.load(Ordering::SeqCst)
    }

    /// So many operations were cancelled.
    pub fn cancelled(&self) -> usize {
        self.state.cancelled.load(Ordering::SeqCst)
    }

    /// When it was last asked which contents are missing.
    pub fn asked(&self) -> Option<Instant> {
        *self.state.asked.lock().unwrap()
    }

    /// So many contents were written.
    pub fn uploaded(&self) -> usize {
        self.state.uploaded.load(Ordering::SeqCst)
    }

    /// So many contents were read.
    pub fn read(&self) -> usize {
        self.state.read.load(Ordering::SeqCst)
    }

    /// The properties that the last execution asked for.
    pub fn properties(&self) -> Vec<(String, String)> {
        let properties = self.state.properties.lock().unwrap();
        let pairs = properties.iter();
        pairs.map(|p| (p.name.clone(), p.value.clone())).collect()
    }

    /// Forgets all contents.
    pub fn forget(&self) {
        self.state.contents.lock().unwrap().clear();
    }

    /// The contents that it has.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        let contents = self.state.contents.lock().unwrap();
        contents.values().cloned().collect()
    }
}

#[derive(Clone)]
struct Calls(Arc<State>);

type Answering = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Calls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Answering {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let is_of_contents = path.contains("ContentAddressableStorage");
            if is_of_contents && matches!(state.fault_before(), Some(Fault::Silent)) {
                std::future::pending::<()>().await;
            }
            let name = path.strip_prefix(PACKAGE).unwrap_or(&path);
            Ok(match name {
                "Capabilities/GetCapabilities" => {
                    let asked = |_: ReapiName| state.capabilities();
                    unary(request, asked).await
                }
                "ContentAddressableStorage/FindMissingBlobs" => {
                    unary(request, |asked| state.missing(asked)).await
                }
                "ContentAddressableStorage/BatchUpdateBlobs" => {
                    unary(request, |asked| state.update(asked)).await
                }
                "ContentAddressableStorage/BatchReadBlobs" => {
                    unary(request, |asked| state.read_batch(asked)).await
                }
                "/google.longrunning.Operations/CancelOperation" => {
                    unary(request, |asked| state.cancel(&asked)).await
                }
                "Execution/Execute" => {
                    streaming(request, |asked| state.clone().execute(asked)).await
                }
                "Execution/WaitExecution" => {
                    streaming(request, |asked| state.clone().wait(&asked)).await
                }
                "/google.bytestream.ByteStream/Read" => {
                    streaming(request, |asked| state.read(&asked)).await
                }
                "/google.bytestream.ByteStream/Write" => write(state, request).await,
                _ => Status::unimplemented(path).into_http(),
            })
        })
    }
}

async fn unary<Q, A>(
    request: http::Request<Body>,
    answer: impl FnOnce(Q) -> Result<A, Status> + Send + Sync,
) -> http::Response<Body>
where
    Q: Message + Default + Send + Sync + 'static,
    A: Message + Default + Send + Sync + 'static,
{
    let mut answer = Some(answer);
    let service = tower::service_fn(move |asked: Request<Q>| {
        let answered = answer.take().unwrap()(asked.into_inner());
        async { answered.map(Response::new) }
    });
    let mut grpc = Grpc::new(ProstCodec::<A, Q>::default());
    grpc.unary(service, request).await
}

async fn streaming<Q, A>(
    request: http::Request<Body>,
    answer: impl FnOnce(Q) -> Result<mpsc::Receiver<Result<A, Status>>, Status> + Send + Sync,
) -> http::Response<Body>
where
    Q: Message + Default + Send + Sync + 'static,
    A: Message + Default + Send + Sync + 'static,
{
    let mut answer = Some(answer);
    let service = tower::service_fn(move |asked: Request<Q>| {
        let answered = answer.take().unwrap()(asked.into_inner());
        async { answered.map(|parts| Response::new(ReceiverStream::new(parts))) }
    });
    let mut grpc = Grpc::new(ProstCodec::<A, Q>::default());
    grpc.server_streaming(service, request).await
}

async fn write(state: Arc<State>, request: http::Request<Body>) -> http::Response<Body> {
    let service = tower::service_fn(move |asked: Request<Streaming<WriteRequest>>| {
        let state = Arc::clone(&state);
        async move {
            let (mut parts, mut bytes) = (asked.into_inner(), Vec::new());
            while let Some(part) = parts.message().await? {
                assert_eq!(part.write_offset, i64::try_from(bytes.len()).unwrap());
                bytes.extend(part.data);
            }
            let committed_size = i64::try_from(bytes.len()).unwrap();
            state.keep(bytes)?;
            Ok(Response::new(WriteResponse { committed_size }))
        }
    });
    let mut grpc = Grpc::new(ProstCodec::<WriteResponse, WriteRequest>::default());
    grpc.client_streaming(service, request).await
}

/// A request that ends with a stream of parts, already all there.
fn parts<T>(parts: Vec<Result<T, Status>>) -> mpsc::Receiver<Result<T, Status>> {
    let (send, receive) = mpsc::channel(parts.len().max(1));
    for part in parts {
        assert!(send.try_send(part).is_ok());
    }
    receive
}

impl State {
    /// What is wrong with an execution.
    fn fault_of(&self, execution: usize) -> Option<Fault> {
        let faults = self.faults.lock().unwrap();
        let at = execution.min(faults.len().checked_sub(1)?);
        faults[at].clone()
    }

    /// What is wrong before the next execution.
    fn fault_before(&self) -> Option<Fault> {
        self.fault_of(self.executed.load(Ordering::SeqCst))
    }

    /// What is wrong after the last execution.
    fn fault_after(&self) -> Option<Fault> {
        self.fault_of(self.executed.load(Ordering::SeqCst).saturating_sub(1))
    }

    fn capabilities(&self) -> Result<ServerCapabilities, Status> {
        let fault = self.fault_before();
        if matches!(fault, Some(Fault::Unknown)) {
            return Err(Status::unauthenticated("who\x1b[31m are you?"));
        }
        let version = SemVer {
            major: if matches!(fault, Some(Fault::Api3)) {
                3
            } else {
                2
            },
        };
        Ok(ServerCapabilities {
            execution_capabilities: Some(ExecutionCapabilities {
                digest_function: if matches!(fault, Some(Fault::OtherDigests)) {
                    2
                } else {
                    1
                },
                exec_enabled: !matches!(fault, Some(Fault::NoExecution)),
            }),
            low_api_version: Some(version.clone()),
            high_api_version: Some(version),
        })
    }

    /// The name of the part that is asked.
    fn instance(&self) -> &'static str {
        match self.is_unnamed.load(Ordering::SeqCst) {
            true => "",
            false => "fake",
        }
    }

    fn missing(&self, asked: BlobsRequest) -> Result<FindMissingBlobsResponse, Status> {
        assert_eq!(asked.instance_name, self.instance());
        *self.asked.lock().unwrap() = Some(Instant::now());
        let fault = self.fault_before();
        let contents = self.contents.lock().unwrap();
        let is_missing = |digest: &ReapiDigest| match fault {
            Some(Fault::HasAll) => false,
            Some(Fault::HasNothing) => true,
            _ => !contents.contains_key(digest),
        };
        let missing_blob_digests = asked.digests.into_iter().filter(is_missing).collect();
        Ok(FindMissingBlobsResponse {
            missing_blob_digests,
        })
    }

    fn keep(&self, bytes: Vec<u8>) -> Result<(), Status> {
        if let Some(Fault::NoUpload(code, times)) = self.fault_before()
            && self.refused.fetch_add(1, Ordering::SeqCst) < times
        {
            return Err(Status::new(code.into(), "no upload"));
        }
        self.uploaded.fetch_add(1, Ordering::SeqCst);
        let mut contents = self.contents.lock().unwrap();
        contents.insert(digest_of(&bytes), bytes);
        Ok(())
    }

    fn update(&self, asked: BatchUpdateBlobsRequest) -> Result<BatchUpdateBlobsResponse, Status> {
        let responses = asked.requests.into_iter().map(|blob| {
            // As servers that validate: an upload with another digest is refused.
            assert_eq!(blob.digest, Some(digest_of(&blob.data)));
            let status = self.keep(blob.data).err().map(|status| RpcStatus {
                code: status.code().into(),
                message: status.message().to_owned(),
            });
            Updated {
                digest: blob.digest,
                status,
            }
        });
        Ok(BatchUpdateBlobsResponse {
            responses: responses.collect(),
        })
    }

    /// A content as it is sent.
    fn sent(&self, digest: &ReapiDigest) -> Result<Vec<u8>, Status> {
        self.read.fetch_add(1, Ordering::SeqCst);
        // As servers that keep nothing where nothing is to be kept.
        if digest.size_bytes == 0 {
            return Err(Status::not_found("a content without a byte"));
        }
        let contents = self.contents.lock().unwrap();
        let lost = || Status::not_found("no such content");
        let mut bytes = contents.get(digest).cloned().ok_or_else(lost)?;
        match self.fault_after() {
            Some(Fault::Turned(at)) if !bytes.is_empty() => {
                let at = at * bytes.len() / 1000;
                let at = at.min(bytes.len() - 1);
                bytes[at] ^= 1;
            }
            Some(Fault::Short) => {
                bytes.pop();
            }
            Some(Fault::Long) => bytes.push(b'\n'),
            _ => {}
        }
        Ok(bytes)
    }

    fn read_batch(&self, asked: BlobsRequest) -> Result<BatchReadBlobsResponse, Status> {
        let responses = asked.digests.into_iter().map(|digest| {
            let (data, status) = match self.sent(&digest) {
                Ok(data) => (data, None),
                Err(status) => (
                    Vec::new(),
                    Some(RpcStatus {
                        code: status.code().into(),
                        message: status.message().to_owned(),
                    }),
                ),
            };
            Blob {
                digest: Some(digest),
                data,
                status,
            }
        });
        Ok(BatchReadBlobsResponse {
            responses: responses.collect(),
        })
    }

    fn read(
        &self,
        asked: &ReapiName,
    ) -> Result<mpsc::Receiver<Result<ReadResponse, Status>>, Status> {
        let mut words = asked.name.rsplit('/');
        let size_bytes = words.next().unwrap().parse().unwrap();
        let hash = words.next().unwrap().to_owned();
        let within = asked.name.strip_prefix(self.instance()).unwrap();
        assert!(within.trim_start_matches('/').starts_with("blobs/"));
        let bytes = self.sent(&ReapiDigest { hash, size_bytes })?;
        let sent = bytes.chunks(1 << 20).map(|data| {
            Ok(ReadResponse {
                data: data.to_vec(),
            })
        });
        Ok(parts(sent.collect()))
    }

    fn cancel(&self, asked: &ReapiName) -> Result<ReapiName, Status> {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        if let Some(child) = self.running.lock().unwrap().get_mut(&asked.name) {
            child.kill().unwrap();
        }
        Ok(ReapiName::default())
    }

    fn execute(
        self: Arc<Self>,
        asked: ExecuteRequest,
    ) -> Result<mpsc::Receiver<Result<Operation, Status>>, Status> {
        assert!(asked.skip_cache_lookup, "no result of before may count");
        let number = self.executed.fetch_add(1, Ordering::SeqCst);
        let fault = self.fault_of(number);
        if let Some(Fault::Refused(code)) = fault {
            return Err(Status::new(code.into(), "refused"));
        }
        let name = format!("operations/{}", self.named.fetch_add(1, Ordering::SeqCst));
        let (ended, ends) = watch::channel(None);
        if !matches!(fault, Some(Fault::Forgotten(_))) {
            let mut operations = self.operations.lock().unwrap();
            operations.insert(name.clone(), ends.clone());
        }
        let told = told(name.clone(), ends, fault.clone());
        if matches!(fault, Some(Fault::Queued)) {
            // Nobody takes it.
            self.queued.lock().unwrap().push(ended);
            return Ok(told);
        }
        tokio::task::spawn_blocking(move || {
            let response = self.respond(&name, &asked, fault.as_ref());
            let _ = ended.send(Some(response));
        });
        Ok(told)
    }

    fn wait(
        self: Arc<Self>,
        asked: &ReapiName,
    ) -> Result<mpsc::Receiver<Result<Operation, Status>>, Status> {
        self.waited.fetch_add(1, Ordering::SeqCst);
        let operations = self.operations.lock().unwrap();
        let ends = operations.get(&asked.name);
        let ends = ends.ok_or_else(|| Status::not_found("no such operation"))?;
        Ok(told(asked.name.clone(), ends.clone(), None))
    }

    /// Executes an action.
    fn respond(
        &self,
        name: &str,
        asked: &ExecuteRequest,
        fault: Option<&Fault>,
    ) -> ExecuteResponse {
        if matches!(fault, Some(Fault::LostInputs)) {
            self.contents.lock().unwrap().clear();
        }
        let failed = |code, message: &str| ExecuteResponse {
            result: Some(ActionResult::default()),
            status: Some(RpcStatus {
                code,
                message: message.to_owned(),
            }),
        };
        match fault {
            Some(Fault::Ended(code)) => return failed(*code, "ended"),
            Some(Fault::Empty) => {
                return ExecuteResponse {
                    result: Some(ActionResult::default()),
                    status: None,
                };
            }
            Some(Fault::Earlier) => {
                return ExecuteResponse {
                    result: Some(self.earlier.lock().unwrap().clone()),
                    status: None,
                };
            }
            _ => {}
        }
        let Some(mut result) = self.work(name, asked.action_digest.as_ref().unwrap(), fault) else {
            return failed(9, "an input is not there");
        };
        result.execution_metadata = Some(ReapiName {
            name: "fake\x1b[2J-1".to_owned(),
        });
        *self.earlier.lock().unwrap() = result.clone();
        ExecuteResponse {
            result: Some(result),
            status: Some(RpcStatus::default()),
        }
    }

    fn content<T: Message + Default>(&self, digest: Option<&ReapiDigest>) -> Option<T> {
        let contents = self.contents.lock().unwrap();
        contents
            .get(digest?)
            .map(|bytes| T::decode(bytes.as_slice()).unwrap())
    }

    fn work(
        &self,
        name: &str,
        action: &ReapiDigest,
        fault: Option<&Fault>,
    ) -> Option<ActionResult> {
        let action: ReapiAction = self.content(Some(action))?;
        assert!(action.do_not_cache && action.timeout.is_some());
        let command: ReapiCommand = self.content(action.command_digest.as_ref())?;
        let properties = action.platform.unwrap_or_default().properties;
        *self.properties.lock().unwrap() = properties;
        let folder = tempfile::tempdir().unwrap();
        if let Some(worker) = self.worker {
            let order = self.found(action.input_root_digest.as_ref(), "vplan/order.json")?;
            let order = WorkOrder::decode(&order).unwrap();
            let (answer, left) = worker(&order);
            std::fs::write(folder.path().join("answer.json"), answer.encode()).unwrap();
            for bytes in left {
                let mut contents = self.contents.lock().unwrap();
                contents.insert(digest_of(&bytes), bytes);
            }
        } else {
            self.stage(action.input_root_digest.as_ref(), folder.path())?;
            let variables = command.environment_variables.iter();
            let mut program = Program::new(folder.path().join(&command.arguments[0]));
            let program = program
                .args(&command.arguments[1..])
                .env_clear()
                .envs(variables.map(|pair| (&pair.name, &pair.value)))
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let child = program.spawn().unwrap();
            let pid = Pid::from_child(&child);
            self.running.lock().unwrap().insert(name.to_owned(), child);
            // It stays a zombie, so that a cancellation ends no stranger.
            let ends = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            retry_on_intr(|| waitid(WaitId::Pid(pid), ends)).unwrap();
            let child = self.running.lock().unwrap().remove(name);
            assert!(child.unwrap().try_wait().unwrap().is_some());
        }
        let path = folder.path().join("answer.json");
        if let Ok(bytes) = std::fs::read(&path) {
            let changed = match fault {
                Some(Fault::Answer(change)) => {
                    let mut answer: StepAnswer = serde_json::from_slice(&bytes).unwrap();
                    change(&mut answer);
                    answer.encode().into_bytes()
                }
                Some(Fault::Torn(part)) => bytes[..part * bytes.len() / 1000].to_vec(),
                _ => bytes,
            };
            std::fs::write(path, changed).unwrap();
        }
        let mut result = ActionResult::default();
        for output in &command.output_paths {
            let path = folder.path().join(output);
            if let Ok(bytes) = std::fs::read(&path) {
                let mut digest = digest_of(&bytes);
                if matches!(fault, Some(Fault::Misnamed)) {
                    digest = digest_of(b"other");
                }
                let mut contents = self.contents.lock().unwrap();
                contents.insert(digest.clone(), bytes);
                result.output_files.push(FileNode {
                    name: output.clone(),
                    digest: Some(digest),
                    ..FileNode::default()
                });
            } else if path.is_dir() {
                self.take(&path);
            }
        }
        if matches!(fault, Some(Fault::Evicted)) {
            self.contents.lock().unwrap().clear();
        }
        Some(result)
    }

    /// Keeps the contents of a folder.
    fn take(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                self.take(&entry.path());
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path()).unwrap();
                let mut contents = self.contents.lock().unwrap();
                contents.insert(digest_of(&bytes), bytes);
            }
        }
    }

    /// Returns the content of a file in a tree.
    fn found(&self, root: Option<&ReapiDigest>, path: &str) -> Option<Vec<u8>> {
        let folder: Directory = self.content(root)?;
        if let Some((name, rest)) = path.split_once('/') {
            let inner = folder.directories.iter().find(|inner| inner.name == name)?;
            return self.found(inner.digest.as_ref(), rest);
        }
        let file = folder.files.iter().find(|file| file.name == path)?;
        let contents = self.contents.lock().unwrap();
        contents.get(file.digest.as_ref()?).cloned()
    }

    /// Writes a tree into a folder; `None`: a content is not there.
    fn stage(&self, root: Option<&ReapiDigest>, to: &Path) -> Option<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let folder: Directory = self.content(root)?;
        // Names are unique and ascending, as the API says.
        let ascends = |names: Vec<&String>| names.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(ascends(
            folder.files.iter().map(|file| &file.name).collect()
        ));
        assert!(ascends(
            folder.directories.iter().map(|inner| &inner.name).collect()
        ));
        assert!(ascends(
            folder.symlinks.iter().map(|link| &link.name).collect()
        ));
        for file in &folder.files {
            let contents = self.contents.lock().unwrap();
            let bytes = contents.get(file.digest.as_ref()?)?;
            let path = to.join(&file.name);
            std::fs::write(&path, bytes).unwrap();
            let mode = if file.is_executable { 0o755 } else { 0o644 };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        for link in &folder.symlinks {
            std::os::unix::fs::symlink(&link.value, to.join(&link.name)).unwrap();
        }
        for inner in &folder.directories {
            let path = to.join(&inner.name);
            std::fs::create_dir(&path).unwrap();
            self.stage(inner.digest.as_ref(), &path)?;
        }
        Some(())
    }
}

/// Tells how far an operation is, until it ends.
fn told(
    name: String,
    mut ends: watch::Receiver<Option<ExecuteResponse>>,
    fault: Option<Fault>,
) -> mpsc::Receiver<Result<Operation, Status>> {
    let (send, receive) = mpsc::channel(4);
    tokio::spawn(async move {
        let at = |stage| Operation {
            name: name.clone(),
            metadata: (!matches!(fault, Some(Fault::NoStage))).then(|| Any {
                type_url: String::new(),
                value: ExecuteOperationMetadata { stage }.encode_to_vec(),
            }),
            ..Operation::default()
        };
        let stages: &[i32] = if matches!(fault, Some(Fault::Queued)) {
            &[2]
        } else {
            &[2, 3]
        };
        for (count, stage) in stages.iter().enumerate() {
            match fault {
                Some(Fault::Cut(at) | Fault::Forgotten(at)) if at == count => return,
                Some(Fault::Broken(at)) if at == count => {
                    let _ = send.send(Err(Status::unknown("h2 protocol error"))).await;
                    return;
                }
                _ => {}
            }
            let _ = send.send(Ok(at(*stage))).await;
        }
        let Ok(response) = ends.wait_for(Option::is_some).await.map(|r| r.clone()) else {
            return;
        };
        let mut last = at(4);
        last.done = true;
        match fault {
            Some(Fault::Cut(2) | Fault::Forgotten(2)) => return,
            Some(Fault::Broken(2)) => {
                let _ = send.send(Err(Status::unknown("h2 protocol error"))).await;
                return;
            }
            Some(Fault::Error(code)) => {
                last.error = Some(RpcStatus {
                    code,
                    message: "error".to_owned(),
                });
            }
            Some(Fault::NoResponse) => {}
            Some(Fault::Garbage) => {
                last.response = Some(Any {
                    type_url: String::new(),
                    value: vec![0xff; 20],
                });
            }
            _ => {
                last.response = response.map(|response| Any {
                    type_url: String::new(),
                    value: response.encode_to_vec(),
                });
            }
        }
        let _ = send.send(Ok(last)).await;
    });
    receive
}
