//! What must be withstood.

mod calls;
mod escape;
mod git;
mod harness;
mod hostile;
mod observe;
mod output;
mod records;
mod run;
mod storage;
mod sweep;
mod waiting;
mod world;
