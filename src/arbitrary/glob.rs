//! Which values of `glob` are worth testing?
