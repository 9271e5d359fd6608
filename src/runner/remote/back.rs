//! The outcome of a remote try, for any transport.

use super::lost::Lost;
use std::any::Any;
use std::path::{Path, PathBuf};
use vplan_away::answer::LeftFile;
use vplan_os::process::stop::StopRequest;

/// The names in the folder of a try: the files, the order, and the outcome.
pub const WORK: &str = "work";
pub const ORDER: &str = "vplan/order.json";
pub const ANSWER: &str = "answer.json";
pub const LOG: &str = "log";
pub const OUT: &str = "out";

/// Fetches the outputs of a remote step.
pub(super) trait Fetch {
    /// Fetches the contents of these files into a folder.
    ///
    /// # Errors
    /// An output is missing.
    fn fetch(&self, left: &[LeftFile], to: &Path, stop: &StopRequest) -> Result<(), Lost>;
}

/// The answer to an order, and a folder of the files that came with it.
pub(super) struct Back<'t> {
    /// The bytes of the answer.
    pub answer: Vec<u8>,
    /// The folder, as long as it is held.
    pub folder: PathBuf,
    /// Removes the folder when it is dropped.
    pub _held: Box<dyn Any>,
    /// The word for the transport.
    pub engine: &'static str,
    /// The machine that executed it, as the server names it.
    pub worker: Option<String>,
    /// Fetches the outputs of the step, if they did not come with the answer.
    pub products: Option<&'t dyn Fetch>,
}

impl Back<'_> {
    /// Returns the folder of the step's outputs, once they are fetched.
    pub fn out(&self, left: &[LeftFile], stop: &StopRequest) -> Result<PathBuf, Lost> {
        let out = self.folder.join(OUT);
        if let Some(products) = self.products {
            products.fetch(left, &out, stop)?;
        }
        Ok(out)
    }

    /// Returns the log.
    pub fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }
}
