//! Looks up passes that other machines have signed, and keeps own ones for them. No error of a store changes
//! a verdict: what cannot be looked up is not there.

mod folder;
#[cfg(feature = "remote")]
mod grpc;
#[cfg(feature = "remote")]
mod http;
mod kind;
#[cfg(feature = "remote")]
mod limit;

#[cfg(feature = "remote")]
use crate::grpc::RemoteAddress;
use folder::Folder;
use kind::Kind;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use vplan_base::canon::Digest;
use vplan_base::word::visible;
use vplan_os::parallel::locked;
use vplan_os::process::program::message_of;
use vplan_reuse::shared::{MOST, SharedPass};
use vplan_reuse::signing::{Signer, Trust};

/// Number of failures in a row after which a store is no longer used.
const MOST_FAILURES: u32 = 3;
/// Size limit of all outputs of a step, in bytes.
pub(crate) const MOST_CONTENT: u64 = 1 << 30;

/// Where passes are.
#[derive(Debug)]
enum Backend {
    Folder(Folder),
    #[cfg(feature = "remote")]
    Http(http::Http),
    #[cfg(feature = "remote")]
    Grpc(grpc::Grpc),
}

/// A store of passes, and whose passes are trusted.
#[derive(Debug)]
pub struct SharedCache {
    backend: Backend,
    scope: String,
    trust: Trust,
    /// Where own passes are to be kept.
    signer: Option<Signer>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    /// Why it failed the last time.
    failed: Option<String>,
    /// Remarks for the report's reader.
    notes: Vec<String>,
}

/// A pass that was found, and who says so.
#[derive(Debug)]
pub struct FoundPass {
    pub pass: SharedPass,
    /// The id of the key that signed it.
    pub signed_by: String,
}

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A folder, by its absolute path.
    Folder(PathBuf),
    /// On another machine.
    #[cfg(feature = "remote")]
    Remote(RemoteAddress),
}

impl SharedCache {
    /// Opens a store. One on a network gets no request yet.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(
        at: Address,
        scope: String,
        trust: Trust,
        signer: Option<Signer>,
    ) -> io::Result<Self> {
        Ok(Self {
            backend: match at {
                Address::Folder(path) => Backend::Folder(Folder::open(&path)?),
                #[cfg(feature = "remote")]
                Address::Remote(at) if at.is_grpc => Backend::Grpc(grpc::Grpc::new(&at)?),
                #[cfg(feature = "remote")]
                Address::Remote(at) => Backend::Http(http::Http::new(at)?),
            },
            scope,
            trust,
            signer,
            state: Mutex::default(),
        })
    }

    /// What the operator says of this machine.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Whether own passes are kept.
    pub fn is_written(&self) -> bool {
        self.signer.is_some()
    }

    /// Returns the pass of a key, if it exists and is trusted.
    pub fn find(&self, key: &Digest, step: &str) -> Option<FoundPass> {
        let bytes = self.get(Kind::Pass, key, MOST)?;
        match SharedPass::decode(key, &bytes, &self.trust) {
            Ok((pass, signed_by)) => Some(FoundPass { pass, signed_by }),
            Err(why) => {
                self.note(format!(
                    "the shared pass of `{step}` is not believed: {why}"
                ));
                None
            }
        }
    }

    /// Returns a content of so many bytes, if it is there and whole.
    pub fn content(&self, digest: &Digest, size: u64) -> Option<Vec<u8>> {
        let bytes = self.get(Kind::Content, digest, size)?;
        (bytes.len() as u64 == size && Digest::hash(&bytes) == *digest).then_some(bytes)
    }

    /// Keeps a pass of this machine with the outputs of the step, each read when it is needed.
    ///
    /// # Errors
    /// It could not be kept.
    pub fn keep(
        &self,
        pass: &SharedPass,
        content: impl Fn(&Digest) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        let Some(signer) = &self.signer else {
            return Ok(());
        };
        let products = pass.products.iter();
        for digest in products.filter_map(|product| product.print.content.as_ref()) {
            self.put(Kind::Content, digest, &content(digest)?)?;
        }
        // Only once all that it needs is there.
        self.put(Kind::Pass, &pass.key, &pass.encode(signer))
    }

    /// Returns the remarks for the report's reader.
    pub fn notes(&self) -> Vec<String> {
        let mut state = self.state();
        let is_given_up = state.failures >= MOST_FAILURES;
        let failed = state.failed.take().filter(|_| !is_given_up);
        let said = failed.map(|why| format!("the store of shared passes failed: {why}"));
        state.notes.extend(said);
        std::mem::take(&mut state.notes)
    }

    fn get(&self, kind: Kind, key: &Digest, most: u64) -> Option<Vec<u8>> {
        if self.state().failures >= MOST_FAILURES {
            return None;
        }
        let got = match &self.backend {
            Backend::Folder(folder) => folder.get(kind, key, most),
            #[cfg(feature = "remote")]
            Backend::Http(http) => http.get(kind, key, most),
            #[cfg(feature = "remote")]
            Backend::Grpc(grpc) => grpc.get(kind, key, most),
        };
        self.counted(got).ok().flatten()
    }

    fn put(&self, kind: Kind, key: &Digest, bytes: &[u8]) -> io::Result<()> {
        if self.state().failures >= MOST_FAILURES {
            return Err(io::Error::other("the store failed too often"));
        }
        let put = match &self.backend {
            Backend::Folder(folder) => folder.put(kind, key, bytes),
            #[cfg(feature = "remote")]
            Backend::Http(http) => http.put(kind, key, bytes),
            #[cfg(feature = "remote")]
            Backend::Grpc(grpc) => grpc.put(kind, key, bytes),
        };
        self.counted(put)
    }

    /// Counts failures in a row, and says when the store is given up.
    fn counted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        let result = result.map_err(|error| foreign(&error));
        match &result {
            Ok(_) => state.failures = 0,
            Err(why) => {
                state.failures += 1;
                state.failed = Some(why.clone());
                if state.failures == MOST_FAILURES {
                    let note = format!(
                        "the store of shared passes is not asked any more in this run: {why}"
                    );
                    state.notes.push(note);
                }
            }
        }
        result.map_err(io::Error::other)
    }

    /// Adds a remark for the report's reader.
    pub fn note(&self, message: String) {
        self.state().notes.push(message);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// Limit of bytes of a store's message that are shown.
const MOST_SHOWN: usize = 4096;

/// Returns the message of a store's error, which anyone may have written.
fn foreign(error: &io::Error) -> String {
    let text = message_of(error);
    let shown = text.get(..text.floor_char_boundary(MOST_SHOWN));
    visible(shown.unwrap_or(&text))
}
