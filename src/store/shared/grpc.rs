//! A store that speaks the Remote Execution API: an action cache, and contents by their digests.
//!
//! A pass is the output of an action that is never executed: its command names the key. A store may
//! check that all parts of a result exist, so command, action and pass are sent before the result.

use super::kind::Kind;
use super::limit::{CONNECT, LOOK_UP, time_of};
use crate::grpc::messages::{
    ActionResult, ActionResultRequest, ReapiAction, ReapiCommand, ReapiDigest,
};
use crate::grpc::{Connection, RemoteAddress, digest_of};
use prost::Message;
use std::io;
use tonic::Status;
use vplan_base::canon;

/// What the command of an action begins with.
const NAME: &str = "vplan-pass";

const GET_RESULT: &str = "/build.bazel.remote.execution.v2.ActionCache/GetActionResult";
const UPDATE_RESULT: &str = "/build.bazel.remote.execution.v2.ActionCache/UpdateActionResult";
/// A store and the connection to it.
#[derive(Debug)]
pub(super) struct Grpc(Connection);

/// An encoded action that represents a key.
struct KeyAction {
    command: Vec<u8>,
    action: Vec<u8>,
}

impl KeyAction {
    fn from_key(key: &canon::Digest) -> Self {
        let command = ReapiCommand {
            arguments: vec![NAME.to_owned(), key.hex()],
            ..ReapiCommand::default()
        };
        let command = command.encode_to_vec();
        let action = ReapiAction {
            command_digest: Some(digest_of(&command)),
            input_root_digest: Some(digest_of(b"")),
            ..ReapiAction::default()
        };
        Self {
            action: action.encode_to_vec(),
            command,
        }
    }
}

impl Grpc {
    /// Asks a store at an address.
    ///
    /// # Errors
    /// The address is none; errors of the system.
    pub(super) fn new(at: &RemoteAddress) -> io::Result<Self> {
        Connection::new(at, CONNECT).map(Self)
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
                let digest = ReapiDigest {
                    hash: key.hex(),
                    size_bytes: size,
                };
                let limit = time_of(size.unsigned_abs());
                self.0.wait(limit, self.0.read(digest))
            }
            Kind::Pass => self.0.wait(LOOK_UP, async {
                let request = ActionResultRequest {
                    instance_name: self.0.instance.clone(),
                    action_digest: Some(digest_of(&KeyAction::from_key(key).action)),
                    action_result: None,
                };
                let result: ActionResult = self.0.ask(GET_RESULT, request).await?;
                let digest = result.stdout_digest;
                let digest = digest.ok_or_else(|| Status::not_found("a result without output"))?;
                if u64::try_from(digest.size_bytes).is_ok_and(|bytes| bytes <= size) {
                    self.0.read(digest).await
                } else {
                    Err(Status::not_found("a result of another size"))
                }
            }),
        }
    }

    pub(super) fn put(&self, kind: Kind, key: &canon::Digest, bytes: &[u8]) -> io::Result<()> {
        let put = async {
            if kind == Kind::Content {
                return self.0.write(&[bytes]).await;
            }
            let KeyAction { command, action } = KeyAction::from_key(key);
            self.0.write(&[&command, &action, b"", bytes]).await?;
            let request = ActionResultRequest {
                instance_name: self.0.instance.clone(),
                action_digest: Some(digest_of(&action)),
                action_result: Some(ActionResult {
                    exit_code: 0,
                    stdout_digest: Some(digest_of(bytes)),
                    ..ActionResult::default()
                }),
            };
            let kept = self.0.ask::<_, ActionResult>(UPDATE_RESULT, request);
            kept.await.map(drop)
        };
        let put = self.0.wait(time_of(bytes.len() as u64), put)?;
        put.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
