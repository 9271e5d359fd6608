//! Laws of the files that `vplan emit` writes.

use crate::emit::jobs::{read, text};
use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::emit::options::{EmitOptions, EmitRequest, LeastCoverage, ProgramFrom, Target};

proptest! {
    #![proptest_config(config(256))]
    /// Any options that are valid give a text of the shape that its system wants, and the same
    /// bytes each time.
    #[test]
    fn emitted_keeps_its_shape(
        at in 0..3_usize,
        shards in 0..300_u32,
        base in "auto|default|all|env:[A-Za-z_][A-Za-z0-9_]{0,9}|[ -~]{0,12}",
        contract in "([A-Za-z0-9._/-]{1,20})|[ -~]{0,12}",
        image in "([A-Za-z0-9][A-Za-z0-9._/:@-]{0,20})|[ -~]{0,12}",
        args in "(--[A-Za-z][A-Za-z0-9-]{0,9}(=[A-Za-z0-9._/:,@%+-]{0,9})? ){0,3}|[ -~]{0,12}",
        bits in 0..64_u8,
    ) {
        let target = Target::ALL[at];
        let number = shards.to_string();
        let bit = |n: u8| bits >> n & 1 == 1;
        let asked = EmitRequest {
            shards: bit(0).then_some(number.as_str()),
            base_from: bit(1).then_some(base.as_str()),
            contract: bit(2).then_some(contract.as_str()),
            image: (bit(3) && target != Target::Slurm).then_some(image.as_str()),
            program: (bit(4) && target != Target::Slurm).then_some(ProgramFrom::Installed),
            require: bit(5).then_some(LeastCoverage::Full),
            sbatch_args: (bit(3) && target == Target::Slurm).then_some(args.as_str()),
        };
        let Ok(options) = EmitOptions::new(target, &asked) else { return Ok(()) };
        let made = vplan::emit::text(&options);
        prop_assert_eq!(&made, &vplan::emit::text(&options.clone()));
        prop_assert!(vplan::emit::is_emitted(made.as_bytes()));
        // With other options nothing else changes than words in lines that are there anyway.
        let plain = vplan::emit::text(&EmitOptions::new(target, &EmitRequest {
            program: asked.program, image: asked.image, ..EmitRequest::default()
        }).unwrap());
        let has_variable = u8::from(target == Target::Github && base.starts_with("env:") && bit(1)) * 2;
        prop_assert!(made.lines().count() <= plain.lines().count() + usize::from(has_variable));
        match target {
            Target::Github => {
                let node = read(&made);
                let jobs = node.get("jobs").unwrap();
                let names: Vec<&str> = jobs.entries().iter().map(|(key, _)| key.name.as_str()).collect();
                prop_assert_eq!(names, ["plan", "shard", "verdict"]);
                for step in jobs.entries().iter().flat_map(|(_, job)| job.get("steps").unwrap().list()) {
                    prop_assert!(!text(step, "run").contains("${{"));
                    let container = jobs.entries()[0].1.get("container");
                    prop_assert_eq!(container.and_then(|c| c.text()), asked.image);
                }
            }
            Target::Gitlab => {
                let node = read(&made);
                let names: Vec<&str> = node.entries().iter().map(|(key, _)| key.name.as_str()).collect();
                prop_assert_eq!(names, ["vplan-plan", "vplan-shard", "vplan-verdict"]);
                for (_, job) in node.entries() {
                    prop_assert!(job.get("script").unwrap().list().iter().all(|line| line.text().is_some()));
                }
            }
            Target::Slurm => {
                let lines: Vec<&str> = made.lines().filter(|l| l.starts_with("options=(")).collect();
                prop_assert_eq!(lines.len(), 1);
                let inside = lines[0].trim_start_matches("options=(");
                prop_assert!(inside.ends_with(')') && !inside.contains(['$', '`', '\'', '"', ';', '&', '(']));
            }
        }
    }
}
