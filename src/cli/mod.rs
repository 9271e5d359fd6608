//! What does the user say, and what is said to the user? The only room of clap, the terminal and miette's fancy handler.

pub mod command;
pub mod exit;
pub mod render;
