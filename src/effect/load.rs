//! Which contract applies, and what is its text?
