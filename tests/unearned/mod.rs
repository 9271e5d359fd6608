//! A green that was not earned: each test is named after the way to one that it closes.

mod base;
mod ci;
mod judge;
mod names;
mod plan;
mod run;
mod status;
mod content;
mod supervisor;
