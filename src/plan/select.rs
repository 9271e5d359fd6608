//! Which checks apply, and why, and which do not, and why not?
