//! The table of the documents that have a schema.

use crate::command;
use crate::command::answer::*;
use crate::render::test::json;
use schemars::Schema;
use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};
use vplan_check as check;
use vplan_engine as engine;
use vplan_ledger as ledger;
use vplan_plan as plan;
use vplan_reuse as reuse;
use vplan_run as run;

/// A kind of document.
pub(super) struct Kind {
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The commands that print it with `--format json`.
    pub by: &'static [&'static str],
    pub direction: Direction,
    /// One of these.
    pub shapes: &'static [fn(&mut SchemaGenerator) -> Schema],
}

/// The writer of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// vplan.
    Written,
    /// Another program, for vplan.
    Read,
}

/// Makes the schema of a type. An object of one shape, without a version of its own, is printed with one.
fn versioned_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.root_schema_for::<T>();
    let keys = schema.ensure_object();
    let of_one_shape = !keys.contains_key("oneOf") && !keys.contains_key("anyOf");
    if let Some(Value::Object(properties)) = keys.get_mut("properties")
        && of_one_shape
        && !properties.contains_key("version")
    {
        let version = json!({"const": 1, "format": "uint32", "minimum": 0, "type": "integer"});
        properties.insert("version".to_owned(), version);
        if let Value::Array(required) = keys.entry("required").or_insert(json!([])) {
            let before = required.partition_point(|key| key.as_str() < Some("version"));
            required.insert(before, "version".into());
        }
    }
    schema
}

/// Reads rows: a direction, a name, the commands that print it, a line for people, its types.
macro_rules! documents {
    ($($direction:ident $name:literal [$($by:literal),*] $about:literal => $($shape:ty),+;)*) => {
        &[$(Kind {
            name: $name,
            about: $about,
            by: &[$($by),*],
            direction: Direction::$direction,
            shapes: &[$(versioned_schema::<$shape>),+],
        }),*]
    };
}

/// All documents, by name.
#[rustfmt::skip]
pub(super) const ALL: &[Kind] = documents! {
    Written "argv" ["argv"] "a command text as vplan reads it"
        => command::argv::Read<'static>, command::argv::Unread<'static>;
    Written "audit" ["audit"] "what a contract does not say of its checks, or says in vain; what a machine can confine steps to"
        => command::audit::AuditDocument<'static>, command::audit::machine::MachineDocument;
    Written "baseline" ["baseline"] "known findings, and what became of them when they were recorded"
        => command::baseline::BaselineDocument, command::baseline::RecordedDocument;
    Written "check" ["check"] "what is wrong with a contract"
        => command::check::CheckDocument<'static>;
    Written "classify" ["classify"] "why a command failed, or what a format reads"
        => command::classify::ClassifyDocument, command::classify::ReadDocument;
    Written "details" ["details"] "what each check of a recorded run did, and why it was there"
        => command::details::DetailsDocument;
    Written "diff" ["diff"] "what two plans, or two contracts, differ in"
        => plan::diff::plans::PlanDiff, plan::diff::ContractDiff;
    Written "division" [] "how the steps of a plan are dealt to shards: what `plan --divide N -o FILE` writes"
        => plan::shard::division::Division;
    Written "emitted" ["emit"] "a file that runs a plan in shards elsewhere, and what became of it"
        => command::emit::EmitDocument<'static>;
    Written "ended-run" [] "what vplan remembers of a run that has ended: ended/ of the state directory"
        => run::recorded_answer::EndedRun;
    Written "event" [] "a line of events.jsonl and of `run --events`"
        => run::journal::Line;
    Written "explanation" ["explain"] "a plan, with what earlier runs say of it; without such runs, the plan alone"
        => command::explain::ExplainDocument<'static>;
    Written "feedback" ["feedback"] "what failed and what to do about it; also what `loop --feedback json` hands to a fixer"
        => run::feedback::Feedback,
           command::r#loop::Unexplained<'static>,
           command::r#loop::ReviewRequest<'static>;
    Written "fix" ["fix"] "the fixes of failing checks, and the verification after them"
        => command::fix::FixDocument<'static>;
    Written "fmt" ["fmt"] "the layout of contracts"
        => command::fmt::FmtDocument<'static>;
    Written "gate" ["gate"] "a round that was recorded, how subjects stand, where one begins, what was accepted or forgotten"
        => ledger::round::Recorded,
           command::gate::Standings<'static>,
           command::gate::Accepted<'static>,
           command::gate::Begun<'static>,
           command::gate::Forgotten;
    Written "gc" ["gc"] "records that were removed"
        => command::gc::GcDocument;
    Written "hook-session" [] "what is remembered of the start of an agent's session: sessions/ of the state directory"
        => engine::agent::Record;
    Written "import" ["import"] "another tool's configuration as a contract"
        => command::import::ImportDocument<'static>;
    Written "init" ["init"] "what a repository declares, and the contract that is proposed"
        => command::init::account::InitDocument<'static>;
    Read "judge-answer" [] "what a judge writes to its standard output"
        => check::judge::JudgeAnswer;
    Written "judge-question" [] "what a judge reads from its standard input"
        => check::judge::Question<'static>;
    Written "kept-pass" [] "a pass that is kept for reuse: the second line of its file"
        => reuse::entry::KeptPass;
    Written "ledger" [] "the rounds of all subjects: ledger.json of the state directory"
        => ledger::document::LedgerDocument;
    Written "listed-checks" ["explain"] "what `explain --checks` prints: the definitions of a contract, their places, conditions and rows"
        => plan::explain::checks::Definitions;
    Written "lock-account" ["lock"] "what became of the lock"
        => engine::lock::Account, command::lock::UpdateDocument<'static>;
    Written "log" ["log"] "what a check of a recorded run wrote"
        => command::log::LogDocument;
    Written "loop" ["loop"] "rounds of verification and repair"
        => command::r#loop::LoopDocument<'static>;
    Written "plan" ["plan", "explain"] "a plan: also plan.json, and a plan file `.json`"
        => plan::Plan;
    Written "plan-written" ["plan"] "what `plan --output` wrote"
        => command::plan::Written<'static>;
    Written "possible" ["explain"] "what `explain --may-change` prints: the checks that a change inside of some globs may need"
        => engine::possible::PossibleChecks;
    Written "proposal" [] "a question and its answer: proposal.json of a run"
        => plan::proposal::RecordedProposal;
    Read "proposal-answer" [] "what a proposer writes to its standard output"
        => plan::proposal::ProposalAnswer;
    Written "proposal-question" [] "what a proposer reads from its standard input"
        => plan::proposal::Question;
    Written "recover" ["recover"] "a repaired list of commands or plan, or why there is none"
        => command::recover::RecoverDocument;
    Written "report" ["run", "merge"] "what came of a run: also report.json"
        => run::report::Report;
    Written "runs" ["runs"] "the recorded runs"
        => command::runs::RunsDocument;
    Written "schemas" ["schema"] "this list"
        => List;
    Written "shards" ["plan"] "the words of `run --shard` for a CI matrix: what `plan --divide N` prints"
        => command::plan::ShardWords;
    Written "stats" ["stats"] "how checks fare over many runs"
        => command::stats::StatsDocument;
    Written "status" ["status"] "how the latest run ended, and whether it is about what is here"
        => command::status::StatusDocument<'static>;
    Written "std" ["std"] "the contracts shipped with vplan"
        => command::std::List;
    Written "test" ["test"] "the tests of a contract, and what came of them"
        => json::TestDocument<'static>;
    Written "timeline" ["report"] "what happened in a recorded run, in order"
        => command::report::TimelineDocument;
    Written "verify" ["verify"] "whether a report is what vplan wrote"
        => command::verify::VerifyDocument<'static>;
};

/// The documents that have a schema.
#[derive(Serialize, JsonSchema)]
pub(super) struct List {
    /// By name.
    pub schemas: Vec<SchemaEntry>,
}

/// A kind of document.
#[derive(Serialize, JsonSchema)]
pub(super) struct SchemaEntry {
    /// One line for people.
    pub about: &'static str,
    /// The commands that print it with `--format json`.
    pub by: &'static [&'static str],
    /// Its name.
    pub name: &'static str,
}
