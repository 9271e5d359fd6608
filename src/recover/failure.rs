//! Why did a step fail? A table over arguments, exit, signal, spawn error, outputs and facts.
