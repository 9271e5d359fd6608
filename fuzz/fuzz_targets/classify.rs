//! Any output of a command: what it prints only ever triggers what is bound to that very tool, and no law of recovery breaks.
#![no_main]
use vplan::base::command::Command;
use vplan::check::evidence::{Captured, Evidence};
use vplan::lang::command::parse_command;
use vplan::plan::facts::Facts;
use vplan::recover::bare::bare_plan;
use vplan::recover::law::{check_classification, check_recovery};

libfuzzer_sys::fuzz_target!(|input: (Vec<&str>, u8, &[u8], &[u8])| {
    let (texts, exit, stdout, stderr) = input;
    let commands: Vec<Command> = texts.iter().take(6).map(|text| parse_command(text)).collect();
    let plan = bare_plan(&commands);
    let evidence = Evidence {
        exit: Some(i32::from(exit)),
        stdout: Captured::from(stdout),
        stderr: Captured::from(stderr),
        ..Evidence::default()
    };
    let mut failures = Vec::new();
    for step in 0..plan.steps.len() {
        check_classification(&plan, step, &evidence, &Facts::default()).unwrap();
        failures.push(vplan::recover::classify(&plan, step, &evidence, &Facts::default()));
    }
    check_recovery(&plan, &failures, &Facts::default()).unwrap();
});
