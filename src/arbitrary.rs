//! Which values are worth testing? proptest strategies for public values (feature `arbitrary`). One file per room.

pub mod glob;
pub mod lang;
pub mod plan;
pub mod recover;
pub mod run;
