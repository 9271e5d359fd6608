//! Which subcommands are there? One file each.
