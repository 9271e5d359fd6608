//! What if any one system call is the last, or fails?
//!
//! `strace` ends the program at the N-th call of a kind, or makes that call fail, for every N that
//! there is. What vplan itself does is meant: `traced` leaves whatever it executes alone unless
//! `everyone` is asked for.

mod counts;
mod errors;
mod kills;
mod place;
mod resources;
mod writers;
