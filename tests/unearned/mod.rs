//! A green that was not earned: each test is named after the way to one that it closes.

mod base;
mod ci;
mod hook;
mod judge;
mod r#loop;
mod names;
mod not_promised;
mod objects;
mod order;
mod plan;
mod recovery;
mod run;
mod status;
mod content;
mod supervisor;
mod subjects;
mod writes;

/// Says that the remote's default branch has what is committed: then it is known what a change begins from.
fn pushed(project: &crate::support::Project) {
    project.git(&["config", "remote.origin.url", "/nowhere"]);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
}
