//! In which forms is a plan written and read?
