//! What came of a run, in plan order?
