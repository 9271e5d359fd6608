//! What tests share: a project in a temporary directory and the binary run in it.
