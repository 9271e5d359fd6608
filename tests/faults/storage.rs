//! What if the disk is full, lies, or loses power; what if a file of ours is damaged?
