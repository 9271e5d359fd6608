//! How are results written for people and machines?

pub mod diagnostic;
pub mod diff;
pub mod html;
pub mod feedback;
pub mod finding;
pub mod github;
pub mod junit;
pub mod report;
pub mod sarif;
pub mod style;
pub mod test;
