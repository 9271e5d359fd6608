//! When does an earlier pass stand for a step? (engine.md section 10)
