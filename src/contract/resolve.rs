//! What do the names of a draft refer to?
