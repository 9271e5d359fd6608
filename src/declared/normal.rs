//! The normal form of a command: equal for equal work, whatever the wrapper and the verbosity.
