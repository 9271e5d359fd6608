//! Splits shell text into its commands: words, operators, compound commands, here-documents. What is
//! no plain command keeps its text; the boundaries are right.
