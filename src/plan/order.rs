//! Which order do the constraints and the base order give, and if none, which is the shortest cycle?
