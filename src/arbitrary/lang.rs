//! Which values of `lang` are worth testing?
