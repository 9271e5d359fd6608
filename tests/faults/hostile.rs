//! What if names, contents, links, variables or repositories are meant to do harm?
