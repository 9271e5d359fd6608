//! What should the caller do next? Rounds of work in, a decision out (engine.md section 9).
