//! Which values of `plan` are worth testing?
