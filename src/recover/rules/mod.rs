//! Which rewrite rules are there, and in which order are they tried?
