//! A store that speaks the Remote Execution API: an action cache, and contents by their digests.
//!
//! A pass is the output of an action that nobody executes: its command names the key. Such a store may check
//! that all that a result names is there, so the command, the action and the pass are sent before the result.

use super::kind::Kind;
use super::limit::{CONNECT, LOOK_UP, time_of};
use super::messages::{
    Action, ActionResult, BatchUpdateBlobsRequest, BatchUpdateBlobsResponse, Blob, Command, Digest,
    FindMissingBlobsRequest, FindMissingBlobsResponse, GetActionResultRequest, ReadRequest,
    ReadResponse, UpdateActionResultRequest, WriteRequest, WriteResponse,
};
use crate::base::canon;
use prost::Message;
use rustix::rand::{GetRandomFlags, getrandom};
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc as Client;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// The most bytes that are sent in one message: what every store takes is 4 MiB.
const BATCH: usize = 3 << 20;
/// The bytes of a part of a larger content.
const PART: usize = 1 << 20;
/// What the command of an action begins with.
const NAME: &str = "vplan-pass";

const GET_RESULT: &str = "/build.bazel.remote.execution.v2.ActionCache/GetActionResult";
const UPDATE_RESULT: &str = "/build.bazel.remote.execution.v2.ActionCache/UpdateActionResult";
const FIND_MISSING: &str =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
const BATCH_UPDATE: &str =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
const READ: &str = "/google.bytestream.ByteStream/Read";
const WRITE: &str = "/google.bytestream.ByteStream/Write";

/// The store, and how it is asked.
#[derive(Debug)]
pub(super) struct Grpc {
    runtime: Runtime,
    channel: Channel,
    headers: MetadataMap,
    instance: String,
}

/// An action that stands for a key, in bytes.
struct KeyAction {
    command: Vec<u8>,
    action: Vec<u8>,
}

impl KeyAction {
    fn of(key: &canon::Digest) -> Self {
        let command = Command {
            arguments: vec![NAME.to_owned(), key.hex()],
        };
        let command = command.encode_to_vec();
        let action = Action {
            command_digest: Some(digest_of(&command)),
            input_root_digest: Some(digest_of(b"")),
        };
        Self {
            action: action.encode_to_vec(),
            command,
        }
    }
}

impl Grpc {
    /// Asks a store at an address, `http` or `https` with a host and perhaps a port. `headers`: names and values of
    /// each request.
    ///
    /// # Errors
    /// The address is none; errors of the system.
    pub(super) fn new(
        address: &str,
        instance: &str,
        headers: &[(String, String)],
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(io::Error::other)?;
        let mut endpoint = endpoint.connect_timeout(CONNECT);
        if address.starts_with("https:") {
            let tls = ClientTlsConfig::new().with_webpki_roots();
            endpoint = endpoint.tls_config(tls).map_err(io::Error::other)?;
        }
        let channel = {
            let _entered = runtime.enter();
            endpoint.connect_lazy()
        };
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            let name =
                tonic::metadata::AsciiMetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
            let pair = name.ok().zip(value.parse().ok());
            let (name, value) = pair.ok_or(io::ErrorKind::InvalidInput)?;
            metadata.insert(name, value);
        }
        Ok(Self {
            runtime,
            channel,
            headers: metadata,
            instance: instance.to_owned(),
        })
    }

    pub(super) fn get(
        &self,
        kind: Kind,
        key: &canon::Digest,
        size: u64,
    ) -> io::Result<Option<Vec<u8>>> {
        match kind {
            Kind::Content => {
                let size = i64::try_from(size).map_err(io::Error::other)?;
                let digest = Digest {
                    hash: key.hex(),
                    size_bytes: size,
                };
                let limit = time_of(size.unsigned_abs());
                self.wait(limit, self.read(digest))
            }
            Kind::Pass => self.wait(LOOK_UP, async {
                let request = GetActionResultRequest {
                    instance_name: self.instance.clone(),
                    action_digest: Some(digest_of(&KeyAction::of(key).action)),
                };
                let result: ActionResult = self.ask(GET_RESULT, request).await?;
                let digest = result.stdout_digest;
                let digest = digest.ok_or_else(|| Status::not_found("a result without output"))?;
                if u64::try_from(digest.size_bytes).is_ok_and(|bytes| bytes <= size) {
                    self.read(digest).await
                } else {
                    Err(Status::not_found("a result of another size"))
                }
            }),
        }
    }

    pub(super) fn put(&self, kind: Kind, key: &canon::Digest, bytes: &[u8]) -> io::Result<()> {
        let put = async {
            if kind == Kind::Content {
                return self.write(&[bytes]).await;
            }
            let KeyAction { command, action } = KeyAction::of(key);
            self.write(&[&command, &action, b"", bytes]).await?;
            let request = UpdateActionResultRequest {
                instance_name: self.instance.clone(),
                action_digest: Some(digest_of(&action)),
                action_result: Some(ActionResult {
                    exit_code: 0,
                    stdout_digest: Some(digest_of(bytes)),
                }),
            };
            let kept = self.ask::<_, ActionResult>(UPDATE_RESULT, request);
            kept.await.map(drop)
        };
        let put = self.wait(time_of(bytes.len() as u64), put)?;
        put.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Waits so long for an answer; `None`: what was asked for is not there.
    fn wait<T: Send>(
        &self,
        limit: Duration,
        answer: impl Future<Output = Result<T, Status>> + Send,
    ) -> io::Result<Option<T>> {
        // A thread of its own: this one may be one of another runtime.
        let answer = std::thread::scope(|scope| {
            let answer = async { tokio::time::timeout(limit, answer).await };
            let waiting = scope.spawn(|| self.runtime.block_on(answer));
            waiting.join()
        });
        match answer {
            Ok(Ok(Ok(answer))) => Ok(Some(answer)),
            Ok(Ok(Err(status))) if status.code() == Code::NotFound => Ok(None),
            Ok(Ok(Err(status))) => {
                let message = format!("{:?}: {}", status.code(), status.message());
                Err(io::Error::other(message))
            }
            Ok(Err(_)) => Err(io::ErrorKind::TimedOut.into()),
            Err(_) => Err(io::ErrorKind::Other.into()),
        }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.headers.clone();
        request
    }

    async fn client(&self) -> Result<Client<Channel>, Status> {
        let mut client = Client::new(self.channel.clone());
        let ready = client.ready().await;
        ready.map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(client)
    }

    async fn ask<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Status>
    where
        Q: Message + Default + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::from_static(path);
        let (mut client, codec) = (self.client().await?, ProstCodec::<Q, A>::default());
        let answer = client.unary(self.request(message), path, codec);
        Ok(answer.await?.into_inner())
    }

    /// Reads a content.
    async fn read(&self, digest: Digest) -> Result<Vec<u8>, Status> {
        let Digest { hash, size_bytes } = digest;
        if size_bytes == 0 {
            return Ok(Vec::new());
        }
        let request = ReadRequest {
            resource_name: self.resource(&format!("blobs/{hash}/{size_bytes}")),
        };
        let codec = ProstCodec::<ReadRequest, ReadResponse>::default();
        let path = PathAndQuery::from_static(READ);
        let mut client = self.client().await?;
        let answer = client.server_streaming(self.request(request), path, codec);
        let mut parts = answer.await?.into_inner();
        let mut bytes = Vec::new();
        let most = usize::try_from(size_bytes).unwrap_or(usize::MAX);
        while let Some(part) = parts.message().await? {
            bytes.extend(part.data);
            if bytes.len() > most {
                return Err(Status::not_found("a content of another size"));
            }
        }
        Ok(bytes)
    }

    /// Writes those of these contents that are not there.
    async fn write(&self, contents: &[&[u8]]) -> Result<(), Status> {
        let request = FindMissingBlobsRequest {
            instance_name: self.instance.clone(),
            blob_digests: contents.iter().map(|bytes| digest_of(bytes)).collect(),
        };
        let answer: FindMissingBlobsResponse = self.ask(FIND_MISSING, request).await?;
        let mut batch = Vec::new();
        for bytes in contents {
            let digest = digest_of(bytes);
            if !answer.missing_blob_digests.contains(&digest) {
                continue;
            }
            if bytes.len() > BATCH {
                self.write_in_parts(bytes).await?;
                continue;
            }
            let size: usize = batch.iter().map(|blob: &Blob| blob.data.len()).sum();
            if size + bytes.len() > BATCH {
                self.write_batch(std::mem::take(&mut batch)).await?;
            }
            batch.push(Blob {
                digest: Some(digest),
                data: bytes.to_vec(),
            });
        }
        self.write_batch(batch).await
    }

    async fn write_batch(&self, batch: Vec<Blob>) -> Result<(), Status> {
        if batch.is_empty() {
            return Ok(());
        }
        let request = BatchUpdateBlobsRequest {
            instance_name: self.instance.clone(),
            requests: batch,
        };
        let answer: BatchUpdateBlobsResponse = self.ask(BATCH_UPDATE, request).await?;
        let mut refused = answer.responses.into_iter().filter_map(|one| one.status);
        match refused.find(|status| status.code != 0) {
            Some(status) => Err(Status::internal(status.message)),
            None => Ok(()),
        }
    }

    async fn write_in_parts(&self, bytes: &[u8]) -> Result<(), Status> {
        let Digest { hash, size_bytes } = digest_of(bytes);
        let name = self.resource(&format!("uploads/{}/blobs/{hash}/{size_bytes}", unique()?));
        let count = bytes.len().div_ceil(PART);
        let parts = bytes
            .chunks(PART)
            .enumerate()
            .map(|(index, part)| WriteRequest {
                resource_name: name.clone(),
                write_offset: i64::try_from(index * PART).unwrap_or(i64::MAX),
                finish_write: index + 1 == count,
                data: part.to_vec(),
            });
        let parts: Vec<WriteRequest> = parts.collect();
        let codec = ProstCodec::<WriteRequest, WriteResponse>::default();
        let path = PathAndQuery::from_static(WRITE);
        let mut client = self.client().await?;
        let request = self.request(tokio_stream::iter(parts));
        let answer = client.client_streaming(request, path, codec).await?;
        if answer.into_inner().committed_size == size_bytes {
            Ok(())
        } else {
            Err(Status::internal("not all of a content was taken"))
        }
    }

    fn resource(&self, name: &str) -> String {
        if self.instance.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.instance)
        }
    }
}

fn digest_of(bytes: &[u8]) -> Digest {
    Digest {
        hash: canon::Digest::of(bytes).hex(),
        size_bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
    }
}

/// Returns a UUID of version 4.
fn unique() -> Result<String, Status> {
    let mut random = [0_u8; 16];
    let got = getrandom(&mut random, GetRandomFlags::empty());
    if got != Ok(random.len()) {
        return Err(Status::internal("no random bytes"));
    }
    let number = u128::from_be_bytes(random);
    let number = number & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032x}");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let parts = parts.map(|(from, to)| hex.get(from..to).unwrap_or_default());
    Ok(parts.join("-"))
}
