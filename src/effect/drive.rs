//! How do actions become effects and effects events? The tokio loop around the state machine.
