//! Which values of `run` are worth testing?
