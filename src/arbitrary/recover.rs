//! Which values of `recover` are worth testing?
