//! Which tree does a text describe?
