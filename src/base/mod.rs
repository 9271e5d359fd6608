//! Types that all rooms share. Uses no other room.

pub mod bits;
pub mod canon;
pub mod carried;
pub mod change;
pub mod command;
pub mod diagnostic;
pub mod folders;
pub mod glob;
pub mod graph;
pub mod hole;
pub mod index;
pub mod inert;
pub mod jobs;
pub mod markup;
pub mod matching;
pub mod name;
pub mod nearest;
pub mod origin;
pub mod path;
pub mod service;
pub mod setting;
pub mod source;
pub mod span;
pub mod unit;
pub mod vocabulary;
pub mod word;
