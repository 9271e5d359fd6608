//! The answer to an order, and when it counts.

use super::order::{Head, VERSION, WorkOrder};
use serde::{Deserialize, Serialize};
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::path::RepoPath;
use vplan_check::confine::{Confined, InputsBasis};
use vplan_check::evidence::Evidence;
use vplan_reuse::key::Print;
use vplan_run::record::ProgramRecord;

/// The answer to an order: the evidence of the try, and the files that it left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepAnswer {
    /// The files of the order that were not as they were once the step had ended, ascending.
    pub changed: Vec<RepoPath>,
    /// How it was confined, if it was to be.
    pub confined: Option<Confined>,
    /// The evidence of the try; `earlier`, `question` and `identities` are empty.
    pub evidence: Evidence,
    /// The evidence that it depends on its `inputs` alone.
    pub inputs: Option<InputsBasis>,
    /// Whether there is a log.
    pub logged: bool,
    /// That of the order.
    pub nonce: String,
    /// The name of the order.
    pub order: Digest,
    /// The system and its processor.
    pub platform: String,
    /// The files that it left of those that it may leave, ascending by path.
    pub products: Vec<LeftFile>,
    /// The program that was started, if it was found.
    pub program: Option<ProgramRecord>,
    /// Processes that could not be ended (another user's).
    pub survivors: u32,
    /// The version of this shape: 1.
    pub version: u32,
    /// The version of vplan.
    pub vplan: String,
}

/// A file that a step left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeftFile {
    pub path: RepoPath,
    /// Its content, or the target of the symlink. Of its permissions, only whether it can be
    /// executed.
    pub print: Print,
    /// In bytes.
    pub size: u64,
}

/// The reason why bytes are not an answer to an order. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRemoteAnswer {
    /// They do not have the shape of an answer.
    #[error("it is no answer: {0}")]
    Damaged(String),
    /// It is one of another vplan.
    #[error("it is the answer of vplan {0}, and this is {own}", own = env!("CARGO_PKG_VERSION"))]
    Version(String),
    /// It is one to another try.
    #[error("it is the answer to another order")]
    OtherOrder,
    /// It lists a file that the step must not leave.
    #[error("it says that the step left `{0}`, which is nothing that it may leave")]
    Product(RepoPath),
}

impl StepAnswer {
    /// Returns its bytes: the canonical form.
    pub fn encode(&self) -> String {
        to_canonical(self)
    }

    /// Reads the answer to an order. Never panics.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn decode(bytes: &[u8], order: &WorkOrder) -> Result<Self, NoRemoteAnswer> {
        Self::decode_named(bytes, order, &order.digest())
    }

    /// Parses the answer to an order whose digest is known. Never panics.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn decode_named(
        bytes: &[u8],
        order: &WorkOrder,
        digest: &Digest,
    ) -> Result<Self, NoRemoteAnswer> {
        let damaged = |error: serde_json::Error| NoRemoteAnswer::Damaged(error.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
        if head.version != VERSION || head.vplan != order.vplan {
            return Err(NoRemoteAnswer::Version(head.vplan));
        }
        let answer: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        if answer.nonce != order.nonce || answer.order != *digest {
            return Err(NoRemoteAnswer::OtherOrder);
        }
        let seen = &answer.evidence;
        let is_told_here =
            seen.earlier.is_some() || seen.question.is_some() || !seen.identities.is_empty();
        let paths = answer.products.iter().map(|product| &product.path);
        if is_told_here || !paths.is_sorted_by(|a, b| a < b) {
            let message = "it says what is not its to say".to_owned();
            return Err(NoRemoteAnswer::Damaged(message));
        }
        let ended_well = order.step.accepts(seen.exit);
        let may_leave = |product: &&LeftFile| {
            let print = &product.print;
            order.may_leave(&product.path, ended_well)
                && print.content.is_some() != print.link.is_some()
        };
        match answer.products.iter().find(|product| !may_leave(product)) {
            Some(product) => Err(NoRemoteAnswer::Product(product.path.clone())),
            None => Ok(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::OrderTerms;
    use vplan_arbitrary::made::step;
    use vplan_base::glob::Glob;
    use vplan_base::word::Word;
    use vplan_reuse::key::KeyPrints;

    fn order(nonce: u8) -> WorkOrder {
        let mut step = step("a");
        step.produces = vec![Glob::parse("out/*").unwrap()];
        let terms = OrderTerms {
            files: KeyPrints::new(),
            limit_ms: 1000,
            max_output: 10,
            nonce: [nonce; 16],
            plan: Digest::hash(b"plan"),
            variables: Vec::new(),
        };
        WorkOrder::new(&step, terms)
    }

    fn file(path: &str, print: Print) -> LeftFile {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        LeftFile {
            path,
            print,
            size: 1,
        }
    }

    fn plain() -> Print {
        Print {
            content: Some(Digest::hash(b"x")),
            link: None,
            mode: 0o644,
        }
    }

    fn answer(order: &WorkOrder) -> StepAnswer {
        StepAnswer {
            changed: Vec::new(),
            confined: None,
            evidence: Evidence {
                exit: Some(0),
                ..Evidence::default()
            },
            inputs: None,
            logged: true,
            nonce: order.nonce.clone(),
            order: order.digest(),
            platform: "linux x86_64".to_owned(),
            products: vec![file("out/a", plain()), file("out/b", plain())],
            program: None,
            survivors: 0,
            version: VERSION,
            vplan: order.vplan.clone(),
        }
    }

    #[test]
    fn an_answer_reads_back_for_its_order_alone() {
        let order = order(1);
        let answer = answer(&order);
        let text = answer.encode();
        assert_eq!(StepAnswer::decode(text.as_bytes(), &order), Ok(answer));
        let other = super::tests::order(2);
        let refused = StepAnswer::decode(text.as_bytes(), &other);
        assert_eq!(refused, Err(NoRemoteAnswer::OtherOrder));
        for end in 0..text.len() {
            assert!(
                StepAnswer::decode(&text.as_bytes()[..end], &order).is_err(),
                "{end}"
            );
        }
    }

    #[test]
    fn what_does_not_count_is_no_answer() {
        let order = order(1);
        let refused = |change: &dyn Fn(&mut StepAnswer)| {
            let mut answer = answer(&order);
            change(&mut answer);
            StepAnswer::decode(answer.encode().as_bytes(), &order).unwrap_err()
        };
        let version = refused(&|answer| answer.vplan = "0.0.9".to_owned());
        assert_eq!(version, NoRemoteAnswer::Version("0.0.9".to_owned()));
        let nonce = refused(&|answer| answer.nonce = "0".repeat(32));
        assert_eq!(nonce, NoRemoteAnswer::OtherOrder);
        let digest = refused(&|answer| answer.order = Digest::hash(b"x"));
        assert_eq!(digest, NoRemoteAnswer::OtherOrder);
        let earlier = refused(&|answer| answer.evidence.earlier = Some(Box::default()));
        assert!(matches!(earlier, NoRemoteAnswer::Damaged(_)));
        let twice = refused(&|answer| answer.products[1].path = answer.products[0].path.clone());
        assert!(matches!(twice, NoRemoteAnswer::Damaged(_)));
        // A failed step leaves none of its products.
        let failed = refused(&|answer| answer.evidence.exit = Some(1));
        assert!(matches!(failed, NoRemoteAnswer::Product(_)));
        let link = Print {
            link: Some(Word::from("a")),
            ..plain()
        };
        for product in [file("src/a", plain()), file("out/c", link)] {
            let error = refused(&|answer| answer.products = vec![product.clone()]);
            assert_eq!(error, NoRemoteAnswer::Product(product.path.clone()));
        }
    }
}
