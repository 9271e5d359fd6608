//! What other machines say: orders and answers of steps that are executed elsewhere, passes that are
//! signed.

use super::choices::{Choices, mutated};
use std::sync::OnceLock;
use vplan::arbitrary::run::step;
use vplan::away::answer::{LeftFile, StepAnswer};
use vplan::away::order::{OrderTerms, VERSION, WorkOrder};
use vplan::base::canon::Digest;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::check::evidence::{Captured, EarlierPass, Evidence};
use vplan::reuse::key::{FileSet, JUDGING, KeyPrints, Print};
use vplan::reuse::shared::{SharedParts, SharedPass};
use vplan::reuse::signing::{Signer, Trust};

/// Any bytes as an order, and as the answer to one: what is read is written the same again, and counts
/// for that order alone. And of those that vplan writes: whatever is changed is still of that form, or an
/// error.
pub fn away(bytes: &[u8]) {
    any_order(bytes);
    let mut choices = Choices(bytes);
    let order = order(&mut choices);
    any_answer(bytes, &order);
    // With the right words in front, more of it is looked at.
    if let Ok(serde_json::Value::Object(mut object)) = serde_json::from_slice(bytes) {
        object.insert("nonce".to_owned(), order.nonce.clone().into());
        object.insert("order".to_owned(), order.digest().to_string().into());
        object.insert("version".to_owned(), VERSION.into());
        object.insert("vplan".to_owned(), order.vplan.clone().into());
        any_answer(
            serde_json::Value::Object(object).to_string().as_bytes(),
            &order,
        );
    }
    let text = order.encode();
    assert_eq!(
        WorkOrder::decode(text.as_bytes()),
        Ok(order.clone()),
        "{text}"
    );
    any_order(&mutated(text.as_bytes(), &mut choices));
    let answer = answer(&order, &mut choices);
    let text = answer.encode();
    assert_eq!(
        StepAnswer::decode(text.as_bytes(), &order),
        Ok(answer.clone()),
        "{text}"
    );
    let other = WorkOrder {
        nonce: "other".to_owned(),
        ..order.clone()
    };
    assert!(StepAnswer::decode(text.as_bytes(), &other).is_err());
    any_answer(&mutated(text.as_bytes(), &mut choices), &order);
}

fn any_order(bytes: &[u8]) {
    if let Ok(order) = WorkOrder::decode(bytes) {
        let text = order.encode();
        assert_eq!(
            WorkOrder::decode(text.as_bytes()),
            Ok(order.clone()),
            "{text}"
        );
        assert_eq!(order.digest(), Digest::hash(text.as_bytes()), "{text}");
        assert!(order.limit_ms > 0 && order.step.argv.is_some());
    }
}

fn any_answer(bytes: &[u8], order: &WorkOrder) {
    let Ok(answer) = StepAnswer::decode(bytes, order) else {
        return;
    };
    assert_eq!(answer.nonce, order.nonce);
    assert_eq!(answer.order, order.digest());
    assert!(answer.evidence.earlier.is_none(), "no pass but its own");
    let ended_well = order.step.accepts(answer.evidence.exit);
    for product in &answer.products {
        assert!(order.may_leave(&product.path, ended_well), "{product:?}");
    }
    let text = answer.encode();
    assert_eq!(
        StepAnswer::decode(text.as_bytes(), order),
        Ok(answer),
        "{text}"
    );
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn print(choices: &mut Choices<'_>) -> Print {
    let link = (choices.byte().is_multiple_of(4)).then(|| Word::from("a"));
    Print {
        content: link.is_none().then(|| Digest::hash(choices.take(3))),
        link,
        mode: choices.one(&[0o644, 0o755]),
    }
}

fn order(choices: &mut Choices<'_>) -> WorkOrder {
    let mut step = step("a");
    step.produces = vec![Glob::parse("out/**").unwrap()];
    step.exit = choices.one(&[&[][..], &[0], &[0, 7]]).to_vec();
    let names = ["src/a", "src/b", "ü", "x"];
    let count = choices.below(names.len() + 1);
    let files: KeyPrints = (names.iter().take(count))
        .map(|name| (path(name), print(choices)))
        .collect();
    let terms = OrderTerms {
        files,
        limit_ms: u64::from(choices.byte()),
        max_output: u64::from(choices.byte()),
        nonce: [choices.byte(); 16],
        plan: Digest::hash(b"plan"),
        variables: vec![(Word::from("A"), Word::new(choices.take(4)))],
    };
    WorkOrder::new(&step, terms)
}

fn answer(order: &WorkOrder, choices: &mut Choices<'_>) -> StepAnswer {
    let evidence = Evidence {
        duration_ms: u64::from(choices.byte()),
        exit: choices.one(&[None, Some(0), Some(1), Some(7)]),
        leaked: u32::from(choices.byte() % 3),
        stdout: Captured::from(choices.take(5)),
        timed_out: choices.byte().is_multiple_of(2),
        ..Evidence::default()
    };
    let count = if order.step.accepts(evidence.exit) {
        choices.below(3)
    } else {
        0
    };
    let left = |name: &&str| LeftFile {
        path: path(name),
        print: print(choices),
        size: 1,
    };
    StepAnswer {
        changed: order.files.iter().map(|(path, _)| path.clone()).collect(),
        confined: None,
        inputs: None,
        logged: true,
        nonce: order.nonce.clone(),
        order: order.digest(),
        platform: "linux".to_owned(),
        products: ["out/a", "out/b"].iter().take(count).map(left).collect(),
        program: None,
        survivors: 0,
        version: VERSION,
        vplan: order.vplan.clone(),
        evidence,
    }
}

/// Any bytes as a pass that a key has signed: none is one unless it was signed so. And of those that
/// vplan signs: whatever is changed is no pass.
pub fn signed(bytes: &[u8]) {
    static KEYS: OnceLock<(Signer, Trust, Trust)> = OnceLock::new();
    let (signer, trust, other) = KEYS.get_or_init(|| {
        let trust = |text| Trust::from_pem(text).unwrap();
        (
            Signer::from_pem(include_str!("../../keys/private.pem")).unwrap(),
            trust(include_str!("../../keys/public.pem")),
            trust(include_str!("../../keys/other.pem")),
        )
    });
    let mut choices = Choices(bytes);
    let digest = |bytes: &[u8]| Digest::hash(bytes);
    let parts = SharedParts {
        enforced: Vec::new(),
        environment: vec![(Word::new(choices.take(3)), digest(b"v"))],
        files: FileSet::from_files([(&path("src/a"), &print(&mut choices))]),
        judging: JUDGING,
        platform: "linux".to_owned(),
        predecessors: digest(b"p"),
        scope: String::from_utf8_lossy(choices.take(4)).into_owned(),
        settings: digest(b"s"),
        toolchains: Default::default(),
        tools: Vec::new(),
        vplan: "1".to_owned(),
    };
    let pass = SharedPass::new(parts, Vec::new(), EarlierPass::default());
    let whole = pass.encode(signer);
    let read = SharedPass::decode(&pass.key, &whole, trust).unwrap();
    assert_eq!(read.0, pass);
    assert!(SharedPass::decode(&pass.key, &whole, other).is_err());
    assert!(SharedPass::decode(&digest(b"other"), &whole, trust).is_err());
    let edited = mutated(&whole, &mut choices);
    for bytes in [bytes, &edited] {
        if bytes != whole {
            assert!(
                SharedPass::decode(&pass.key, bytes, trust).is_err(),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}
