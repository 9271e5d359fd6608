//! The messages of the Remote Execution API, version 2, and of the ByteStream API, as far as a store of passes
//! needs them. What they and their fields mean is in `build/bazel/remote/execution/v2/remote_execution.proto`
//! and `google/bytestream/bytestream.proto`; the numbers are those of these files.

use prost::Message;

/// A content, by its SHA-256 and its size.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Digest {
    #[prost(string, tag = "1")]
    pub hash: String,
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

/// What an action would start.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Command {
    #[prost(string, repeated, tag = "1")]
    pub arguments: Vec<String>,
}

/// What a result is kept for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Action {
    #[prost(message, optional, tag = "1")]
    pub command_digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub input_root_digest: Option<Digest>,
}

/// A result, of which only the output is used.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ActionResult {
    #[prost(int32, tag = "4")]
    pub exit_code: i32,
    #[prost(message, optional, tag = "6")]
    pub stdout_digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UpdateActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<Digest>,
    #[prost(message, optional, tag = "3")]
    pub action_result: Option<ActionResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub missing_blob_digests: Vec<Digest>,
}

/// A content with its digest.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Blob {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub requests: Vec<Blob>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<Updated>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Updated {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub status: Option<Status>,
}

/// How something ended: 0, or the number of an error.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadResponse {
    #[prost(bytes = "vec", tag = "10")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteRequest {
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
pub(super) struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub committed_size: i64,
}
