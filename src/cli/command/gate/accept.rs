//! `vplan gate accept`: lets a person accept, for one subject, a contract that requires less than
//! the one at its base.

use super::words::unknown;
use crate::args::digest;
use crate::command::answer::*;
use vplan_engine::subject::check_name;
use vplan_ledger::Acceptance;
use vplan_repo::ledger_file::{LedgerFile, PATIENCE};
use vplan_store::records::wall_clock;

/// `vplan gate accept`
#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// For this one; it has had a round.
    #[arg(long, value_name = "NAME")]
    pub subject: String,
    /// The digest of the contract, as `vplan check` and the answer that refused it print it.
    // Elsewhere `--contract` is a file, and the types of both must be one.
    #[arg(long, value_name = "sha256:…", value_parser = written, required = true)]
    pub contract: PathBuf,
}

fn written(text: &str) -> Result<PathBuf, &'static str> {
    digest(text).map(|digest| PathBuf::from(digest.to_string()))
}

/// The acceptance.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Accepted<'a> {
    /// The digest of the contract.
    contract: &'a Digest,
    /// For which subject.
    subject: &'a str,
}

/// Records the acceptance. No contract is read: what counts is what the next round finds.
///
/// # Errors
/// An unknown subject (exit 2), a ledger that cannot be used (exit 5).
pub fn accept(global: &Global, args: &AcceptArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    check_name(&args.subject)?;
    let contract = digest(&args.contract.to_string_lossy())
        .map_err(|e| Failure::usage("vplan::usage::digest", e))?;
    let global = &Global {
        contract: None,
        ..global.clone()
    };
    let site = global.engine().locate()?;
    LedgerFile::new(global.engine().state(&site)?).change(PATIENCE, |ledger| {
        let mut next = ledger.clone();
        let acceptance = Acceptance {
            at: wall_clock(),
            contract: contract.clone(),
        };
        match next.accept(&args.subject, acceptance) {
            true => Ok((next, ())),
            false => Err(unknown(ledger, &args.subject)),
        }
    })?;
    let accepted = versioned(Accepted {
        contract: &contract,
        subject: &args.subject,
    });
    answer(terminal, format, &accepted, || {
        format!("`{}` may go on under {contract}\n", visible(&args.subject))
    });
    Ok(Exit::Success.code())
}
