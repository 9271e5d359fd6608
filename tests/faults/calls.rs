//! What if any one system call is the last, or fails?
