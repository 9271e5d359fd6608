//! Which transitions are legal, and what do they cause?
