//! How are results written for people and machines?

pub mod diagnostic;
pub mod diff;
pub mod html;
pub mod report;
pub mod style;
pub mod test;
