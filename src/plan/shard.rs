//! Which share of a plan's steps belongs to one of several machines?
