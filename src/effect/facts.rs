//! How are facts about the repository gathered?
