//! Which exit code means what? (engine.md section 11)
