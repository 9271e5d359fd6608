//! A connection to what speaks the Remote Execution API: calls, and contents by their digests.

// For the tests' server alone.
#[doc(hidden)]
pub mod messages;

use messages::{
    BatchReadBlobsResponse, BatchUpdateBlobsRequest, BatchUpdateBlobsResponse, Blob, BlobsRequest,
    FindMissingBlobsResponse, ReadResponse, ReapiDigest, ReapiName, WriteRequest, WriteResponse,
};
use prost::Message;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc as Client;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;
use vplan_base::canon;

/// Limit of content bytes in one message; every store accepts messages of 4 MiB.
const BATCH: usize = 3 << 20;
/// Limit of bytes that a content adds to a message: its digest and the lengths.
const BESIDE: usize = 128;
/// The bytes of a part of a larger content.
const PART: usize = 1 << 20;
/// Maximum number of digests in one request.
const DIGESTS: usize = 10_000;
/// The time in which a message is answered, or the next part of a content comes.
const ANSWER: Duration = Duration::from_secs(60);
/// The time between signs of life of a connection.
const ALIVE: Duration = Duration::from_secs(20);

const FIND_MISSING: &str =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
const BATCH_UPDATE: &str =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
const BATCH_READ: &str =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchReadBlobs";
const READ: &str = "/google.bytestream.ByteStream/Read";
const WRITE: &str = "/google.bytestream.ByteStream/Write";

/// Where a server on another machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Whether it speaks the Remote Execution API, or plain HTTP.
    pub is_grpc: bool,
    /// `http` or `https`, and the host; or `unix`, and the path of a socket.
    pub origin: String,
    /// The path at it; what the Remote Execution API calls an instance.
    pub path: String,
    /// Headers of each request: names and values.
    pub headers: Vec<(String, String)>,
    /// By which the two ends of the connection know each other.
    pub tls: TlsIdentity,
}

/// Certificates and a key, each as PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsIdentity {
    /// Trusted certificate authorities, instead of those of the web.
    pub authorities: Option<Vec<u8>>,
    /// The certificate of this end, and its private key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

/// A connection, and how it is used.
#[derive(Debug)]
pub struct Connection {
    runtime: Runtime,
    channel: Channel,
    headers: MetadataMap,
    /// The part of the server that requests address (`instance_name`).
    pub instance: String,
}

impl Connection {
    /// Makes one, which connects with the first call, within a time.
    ///
    /// # Errors
    /// The address is none; errors of the system.
    pub fn new(at: &RemoteAddress, connect: Duration) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let endpoint = Endpoint::from_shared(at.origin.clone()).map_err(io::Error::other)?;
        let mut endpoint = endpoint
            .connect_timeout(connect)
            // Not that of HTTP: servers take it for an attack.
            .tcp_keepalive(Some(ALIVE));
        if at.origin.starts_with("https:") {
            let tls = ClientTlsConfig::new();
            let tls = match &at.tls.authorities {
                Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
                None => tls.with_webpki_roots(),
            };
            let tls = match &at.tls.own {
                Some((certificate, key)) => tls.identity(Identity::from_pem(certificate, key)),
                None => tls,
            };
            endpoint = endpoint.tls_config(tls).map_err(io::Error::other)?;
        }
        let channel = {
            let _entered = runtime.enter();
            endpoint.connect_lazy()
        };
        let mut headers = MetadataMap::new();
        for (name, value) in &at.headers {
            let name =
                tonic::metadata::AsciiMetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
            let pair = name.ok().zip(value.parse().ok());
            let (name, value) = pair.ok_or(io::ErrorKind::InvalidInput)?;
            headers.insert(name, value);
        }
        Ok(Self {
            runtime,
            channel,
            headers,
            instance: at.path.trim_matches('/').to_owned(),
        })
    }

    /// Does something with it, on this thread, which is in no runtime.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Waits up to `limit` for an answer; `None` if the server does not have it.
    ///
    /// # Errors
    /// The call fails, or takes too long.
    pub fn wait<T: Send>(
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

    /// Asks one thing.
    ///
    /// # Errors
    /// The server's.
    pub async fn ask<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Status>
    where
        Q: Message + Default + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::from_static(path);
        let (mut client, codec) = (self.client().await?, ProstCodec::<Q, A>::default());
        let answer = client.unary(self.request(message), path, codec);
        Ok(in_time(ANSWER, answer).await?.into_inner())
    }

    /// Asks what is answered in parts.
    ///
    /// # Errors
    /// The server's.
    pub async fn listen<Q, A>(&self, path: &'static str, message: Q) -> Result<Streaming<A>, Status>
    where
        Q: Message + Default + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::from_static(path);
        let (mut client, codec) = (self.client().await?, ProstCodec::<Q, A>::default());
        let answer = client.server_streaming(self.request(message), path, codec);
        Ok(answer.await?.into_inner())
    }

    /// Reads a content.
    ///
    /// # Errors
    /// It is not there, or has another size; the server's.
    pub async fn read(&self, digest: ReapiDigest) -> Result<Vec<u8>, Status> {
        let ReapiDigest { hash, size_bytes } = digest;
        if size_bytes == 0 {
            return Ok(Vec::new());
        }
        let request = ReapiName {
            name: self.resource(&format!("blobs/{hash}/{size_bytes}")),
        };
        let mut parts: Streaming<ReadResponse> = self.listen(READ, request).await?;
        let mut bytes = Vec::new();
        let most = usize::try_from(size_bytes).unwrap_or(usize::MAX);
        while let Some(part) = in_time(ANSWER, parts.message()).await? {
            bytes.extend(part.data);
            if bytes.len() > most {
                return Err(Status::not_found("a content of another size"));
            }
        }
        Ok(bytes)
    }

    /// Reads contents, as many in a message as fit, and gives each away, in any order.
    ///
    /// # Errors
    /// One is not there, or is another one than its name says; the server's; those of `take`.
    pub async fn fetch(
        &self,
        digests: BTreeSet<ReapiDigest>,
        mut take: impl FnMut(ReapiDigest, Vec<u8>) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let mut take = |digest: ReapiDigest, bytes: Vec<u8>| {
            if digest_of(&bytes) == digest {
                return take(digest, bytes);
            }
            Err(Status::data_loss("a content is not the one that was named"))
        };
        let (mut batch, mut size) = (Vec::new(), 0);
        for digest in digests {
            let length = usize::try_from(digest.size_bytes).unwrap_or(usize::MAX);
            // Empty content is never requested, and need not exist.
            if length > BATCH || length == 0 {
                let bytes = self.read(digest.clone()).await?;
                take(digest, bytes)?;
                continue;
            }
            if size + length > BATCH {
                self.read_batch(std::mem::take(&mut batch), &mut take)
                    .await?;
                size = 0;
            }
            size += length + BESIDE;
            batch.push(digest);
        }
        self.read_batch(batch, &mut take).await
    }

    async fn read_batch(
        &self,
        digests: Vec<ReapiDigest>,
        take: &mut impl FnMut(ReapiDigest, Vec<u8>) -> Result<(), Status>,
    ) -> Result<(), Status> {
        if digests.is_empty() {
            return Ok(());
        }
        let mut wanted: BTreeSet<ReapiDigest> = digests.iter().cloned().collect();
        let request = BlobsRequest {
            instance_name: self.instance.clone(),
            digests,
        };
        let answer: BatchReadBlobsResponse = self.ask(BATCH_READ, request).await?;
        for one in answer.responses {
            if let Some(ended) = one.status.filter(|ended| ended.code != 0) {
                return Err(Status::new(ended.code.into(), ended.message));
            }
            let digest = one.digest.filter(|digest| wanted.remove(digest));
            let digest = digest.ok_or_else(|| Status::data_loss("nobody asked for a content"))?;
            take(digest, one.data)?;
        }
        match wanted.first() {
            None => Ok(()),
            Some(_) => Err(Status::not_found("a content is not there")),
        }
    }

    /// Writes those of these contents that are not there.
    ///
    /// # Errors
    /// The server's.
    pub async fn write(&self, contents: &[&[u8]]) -> Result<(), Status> {
        let digests: Vec<ReapiDigest> = contents.iter().map(|bytes| digest_of(bytes)).collect();
        let missing = self.missing(&digests).await?;
        let contents = digests.iter().zip(contents);
        let wanted = contents.filter(|(digest, _)| missing.contains(digest));
        let wanted = wanted.map(|(_, bytes)| Ok(bytes.to_vec()));
        self.upload(wanted).await
    }

    /// Returns those of these contents that are not there.
    ///
    /// # Errors
    /// The server's.
    pub async fn missing(&self, digests: &[ReapiDigest]) -> Result<BTreeSet<ReapiDigest>, Status> {
        let mut missing = BTreeSet::new();
        for part in digests.chunks(DIGESTS) {
            let request = BlobsRequest {
                instance_name: self.instance.clone(),
                digests: part.to_vec(),
            };
            let answer: FindMissingBlobsResponse = self.ask(FIND_MISSING, request).await?;
            missing.extend(answer.missing_blob_digests);
        }
        Ok(missing)
    }

    /// Writes contents, as many in a message as fit.
    ///
    /// # Errors
    /// A content's own; the server's.
    pub async fn upload(
        &self,
        contents: impl Iterator<Item = Result<Vec<u8>, Status>>,
    ) -> Result<(), Status> {
        let (mut batch, mut size) = (Vec::new(), 0);
        for bytes in contents {
            let bytes = bytes?;
            if bytes.len() > BATCH {
                self.write_in_parts(&bytes).await?;
                continue;
            }
            if size + bytes.len() > BATCH {
                self.write_batch(std::mem::take(&mut batch)).await?;
                size = 0;
            }
            size += bytes.len() + BESIDE;
            batch.push(Blob {
                digest: Some(digest_of(&bytes)),
                data: bytes,
                status: None,
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
        match refused.find(|ended| ended.code != 0) {
            Some(ended) => Err(Status::new(ended.code.into(), ended.message)),
            None => Ok(()),
        }
    }

    async fn write_in_parts(&self, bytes: &[u8]) -> Result<(), Status> {
        let ReapiDigest { hash, size_bytes } = digest_of(bytes);
        let name = self.resource(&format!("uploads/{}/blobs/{hash}/{size_bytes}", unique()?));
        let count = bytes.len().div_ceil(PART);
        let part = |(index, part): (usize, &[u8])| WriteRequest {
            resource_name: name.clone(),
            write_offset: i64::try_from(index * PART).unwrap_or(i64::MAX),
            finish_write: index + 1 == count,
            data: part.to_vec(),
        };
        let parts: Vec<WriteRequest> = bytes.chunks(PART).enumerate().map(part).collect();
        let codec = ProstCodec::<WriteRequest, WriteResponse>::default();
        let path = PathAndQuery::from_static(WRITE);
        let mut client = self.client().await?;
        let request = self.request(tokio_stream::iter(parts));
        // As long as for as many messages.
        let limit = ANSWER * u32::try_from(bytes.len().div_ceil(BATCH)).unwrap_or(u32::MAX);
        let answer = in_time(limit, client.client_streaming(request, path, codec)).await?;
        if answer.into_inner().committed_size == size_bytes {
            Ok(())
        } else {
            Err(Status::internal("not all of a content was taken"))
        }
    }

    fn resource(&self, name: &str) -> String {
        match self.instance.as_str() {
            "" => name.to_owned(),
            instance => format!("{instance}/{name}"),
        }
    }
}

/// Waits so long for an answer, and takes a server that gives none for one that is gone.
async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let answer = tokio::time::timeout(limit, answer).await;
    answer.unwrap_or_else(|_| Err(Status::unavailable("it does not answer")))
}

/// Returns what names a content.
pub fn digest_of(bytes: &[u8]) -> ReapiDigest {
    ReapiDigest {
        hash: canon::Digest::hash(bytes).hex(),
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
