//! The one integration binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests are outside the pure core"
)]

mod audit;
mod audit_command;
mod away;
#[cfg(feature = "remote")]
mod away_faults;
#[cfg(feature = "remote")]
mod away_server;
#[cfg(feature = "remote")]
mod away_servers;
mod baseline;
mod changes;
mod check;
mod ci;
mod cli;
mod completion;
mod convert;
mod default_base;
mod defaults;
mod diagnostics;
mod diff;
mod divide;
mod each;
mod emit;
mod engine;
mod examples;
mod examples_fail;
mod execution;
mod exists;
mod expect;
mod faults;
mod fix;
mod fmt;
mod folders;
mod formats;
mod frozen;
mod gate;
mod golden;
mod html;
mod import_block;
mod imports;
mod init;
mod init_trees;
mod init_try;
mod install;
mod integrations;
mod jobs_auto;
mod judge;
mod judged;
mod language;
mod laws;
mod lock;
mod looks;
mod r#loop;
mod machine_faults;
mod machines;
mod modes;
mod outlook;
mod outputs;
mod own_output;
mod plan_files;
mod plan_identity;
mod plan_version_1;
mod possible;
mod props;
mod readings;
mod readme;
mod records;
#[allow(
    clippy::needless_range_loop,
    clippy::type_complexity,
    reason = "naive on purpose, to be read like the rules"
)]
mod reference;
mod reports;
mod reuse;
mod runner;
mod sandbox;
mod sandbox_faults;
mod sandbox_files;
mod sandbox_sealed;
mod sandbox_settings;
mod schema;
mod sealed;
mod sealed_runs;
mod services;
mod shared;
#[cfg(feature = "remote")]
mod shared_servers;
mod std;
mod support;
mod together;
mod tour;
mod unearned;
mod vectors;
mod verbs;
mod withstand;
mod words;
mod workspaces;
mod written;
