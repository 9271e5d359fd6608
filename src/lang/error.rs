//! Which messages can a text get?
