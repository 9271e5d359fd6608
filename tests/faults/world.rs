//! What if processes, descriptors, memory, time or the terminal misbehave?
