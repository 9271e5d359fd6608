//! No fault of a server makes a pass: random faults, one after the other, of a server in this process.

use crate::support::reapi::{Fault, Server};
use crate::support::there::{MADE, Site, ends, truthful};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner, contextualize_config};
use std::time::Duration;
use vplan::arbitrary::config;
use vplan::base::canon::Digest;
use vplan::check::evidence::UNANSWERED;
use vplan::effect::os::process::stop::StopRequest;

fn status() -> impl Strategy<Value = i32> {
    1..17_i32
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..3_usize).prop_map(Fault::Cut),
        (0..3_usize).prop_map(Fault::Broken),
        (0..3_usize).prop_map(Fault::Forgotten),
        status().prop_map(Fault::Refused),
        status().prop_map(Fault::Error),
        status().prop_map(Fault::Ended),
        Just(Fault::NoResponse),
        Just(Fault::Garbage),
        Just(Fault::Empty),
        Just(Fault::Earlier),
        Just(Fault::Answer(|answer| answer.nonce = "0".repeat(32))),
        Just(Fault::Answer(|answer| answer.order = Digest::hash(b"other"))),
        Just(Fault::Answer(|answer| answer.vplan.push('1'))),
        Just(Fault::Answer(|answer| answer.version += 1)),
        Just(Fault::Answer(|answer| {
            answer.products.clear();
            answer.evidence.exit = None;
        })),
        (0..1000_usize).prop_map(Fault::Torn),
        Just(Fault::Misnamed),
        (0..1000_usize).prop_map(Fault::Turned),
        Just(Fault::Short),
        Just(Fault::Long),
        Just(Fault::Evicted),
        Just(Fault::LostInputs),
        Just(Fault::HasAll),
        Just(Fault::HasNothing),
        (status(), 1..6_usize).prop_map(|(code, times)| Fault::NoUpload(code, times)),
        Just(Fault::Queued),
        Just(Fault::NoStage),
    ]
}

#[test]
fn no_fault_makes_a_pass() {
    let server = Server::made_up(truthful);
    let site = Site::new(&server, |settings| {
        settings.queue = Duration::from_millis(20);
    });
    let faults = prop::collection::vec(prop::option::weighted(0.8, fault()), 1..5);
    // The step of before ended well, the one of now with this code.
    let law = |(faults, code, forget): (Vec<Option<Fault>>, i32, bool)| {
        if forget {
            server.forget();
        }
        server.fails([None]);
        let stop = StopRequest::new().unwrap();
        site.execute(&ends(0), &stop);
        site.clear();
        server.fails(faults);
        let came = site.execute(&ends(code), &stop);
        let evidence = &came.tried.evidence;
        let made = site.made();
        site.clear();
        match &evidence.spawn_error {
            Some(error) => {
                prop_assert_eq!(&error.code, UNANSWERED);
                prop_assert_eq!((evidence.exit, made), (None, None));
            }
            // What the worker itself takes back is no pass.
            None if evidence.exit.is_none() => prop_assert_eq!(made, None),
            None => {
                prop_assert_eq!(evidence.exit, Some(code));
                prop_assert_eq!(made.as_deref(), (code == 0).then_some(MADE));
            }
        }
        Ok(())
    };
    let asked = contextualize_config(config(256));
    // 10,000 where `PROPTEST_CASES` asks for many of all.
    let more = asked.cases.saturating_sub(256).saturating_mul(6);
    let cases = asked.cases.saturating_add(more).min(10_000);
    let mut runner = TestRunner::new(Config { cases, ..asked });
    if let Err(error) = runner.run(&(faults, 0..3_i32, any::<bool>()), law) {
        panic!("{error}");
    }
}
