//! What does a contract look like as a tree?
