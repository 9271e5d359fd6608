//! What does a plan say about one check?
