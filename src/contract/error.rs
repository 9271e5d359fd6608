//! Which messages can a contract get once its syntax is right?
