//! The messages of the Remote Execution API, version 2, of long-running operations and of the ByteStream API, as far
//! as they are needed. What they and their fields mean is in `build/bazel/remote/execution/v2/remote_execution.proto`,
//! `google/longrunning/operations.proto` and `google/bytestream/bytestream.proto`; the numbers are those of these files.

use prost::Message;

/// A content, by its SHA-256 and its size.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct ReapiDigest {
    #[prost(string, tag = "1")]
    pub hash: String,
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

/// What an action starts.
#[derive(Clone, PartialEq, Message)]
pub struct ReapiCommand {
    #[prost(string, repeated, tag = "1")]
    pub arguments: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    pub environment_variables: Vec<Pair>,
    #[prost(message, optional, tag = "5")]
    pub platform: Option<Platform>,
    #[prost(string, repeated, tag = "7")]
    pub output_paths: Vec<String>,
}

/// A name and its value: a variable, a property of a machine, a link and its target.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Pair {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// What a machine must have.
#[derive(Clone, PartialEq, Message)]
pub struct Platform {
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<Pair>,
}

/// What is executed, or what a result is kept for.
#[derive(Clone, PartialEq, Message)]
pub struct ReapiAction {
    #[prost(message, optional, tag = "1")]
    pub command_digest: Option<ReapiDigest>,
    #[prost(message, optional, tag = "2")]
    pub input_root_digest: Option<ReapiDigest>,
    #[prost(message, optional, tag = "6")]
    pub timeout: Option<Duration>,
    #[prost(bool, tag = "7")]
    pub do_not_cache: bool,
    #[prost(message, optional, tag = "10")]
    pub platform: Option<Platform>,
}

/// A length of time.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Duration {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A folder of the files of an action.
#[derive(Clone, PartialEq, Message)]
pub struct Directory {
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<FileNode>,
    #[prost(message, repeated, tag = "2")]
    pub directories: Vec<FileNode>,
    #[prost(message, repeated, tag = "3")]
    pub symlinks: Vec<Pair>,
}

/// A file, or a folder, which is a content too: of an action's files by its name, of its output by its path.
#[derive(Clone, PartialEq, Message)]
pub struct FileNode {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub digest: Option<ReapiDigest>,
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
}

/// What came of an action, or the pass that is kept as its output.
#[derive(Clone, PartialEq, Message)]
pub struct ActionResult {
    #[prost(message, repeated, tag = "2")]
    pub output_files: Vec<FileNode>,
    #[prost(int32, tag = "4")]
    pub exit_code: i32,
    #[prost(message, optional, tag = "6")]
    pub stdout_digest: Option<ReapiDigest>,
    #[prost(message, optional, tag = "9")]
    pub execution_metadata: Option<ReapiName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(bool, tag = "3")]
    pub skip_cache_lookup: bool,
    #[prost(message, optional, tag = "6")]
    pub action_digest: Option<ReapiDigest>,
}

/// The name of an operation to wait for or to cancel, of a content to read, of the part of a server that has capabilities,
/// of the machine that executed an action.
#[derive(Clone, PartialEq, Message)]
pub struct ReapiName {
    #[prost(string, tag = "1")]
    pub name: String,
}

/// How far an execution is.
#[derive(Clone, PartialEq, Message)]
pub struct Operation {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub metadata: Option<Any>,
    #[prost(bool, tag = "3")]
    pub done: bool,
    #[prost(message, optional, tag = "4")]
    pub error: Option<RpcStatus>,
    #[prost(message, optional, tag = "5")]
    pub response: Option<Any>,
}

/// A message of the type that it names.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteOperationMetadata {
    /// 0 not said, 1 a look into the cache, 2 queued, 3 executing, 4 completed.
    #[prost(int32, tag = "1")]
    pub stage: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<ActionResult>,
    #[prost(message, optional, tag = "3")]
    pub status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServerCapabilities {
    #[prost(message, optional, tag = "2")]
    pub execution_capabilities: Option<ExecutionCapabilities>,
    #[prost(message, optional, tag = "4")]
    pub low_api_version: Option<SemVer>,
    #[prost(message, optional, tag = "5")]
    pub high_api_version: Option<SemVer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecutionCapabilities {
    /// 1 is SHA-256.
    #[prost(int32, tag = "1")]
    pub digest_function: i32,
    #[prost(bool, tag = "2")]
    pub exec_enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct SemVer {
    #[prost(int32, tag = "1")]
    pub major: i32,
}

/// Asks for the result of an action, or keeps one.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<ReapiDigest>,
    #[prost(message, optional, tag = "3")]
    pub action_result: Option<ActionResult>,
}

/// Asks which contents are missing, or for them.
#[derive(Clone, PartialEq, Message)]
pub struct BlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub digests: Vec<ReapiDigest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub missing_blob_digests: Vec<ReapiDigest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub requests: Vec<Blob>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<Updated>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Updated {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<ReapiDigest>,
    #[prost(message, optional, tag = "2")]
    pub status: Option<RpcStatus>,
}

/// How something ended: 0, or the number of an error.
#[derive(Clone, PartialEq, Message)]
pub struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchReadBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<Blob>,
}

/// A content with its digest, and the status of reading it.
#[derive(Clone, PartialEq, Message)]
pub struct Blob {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<ReapiDigest>,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(bytes = "vec", tag = "10")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
    #[prost(int64, tag = "2")]
    pub write_offset: i64,
    #[prost(bool, tag = "3")]
    pub finish_write: bool,
    #[prost(bytes = "vec", tag = "10")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub committed_size: i64,
}
