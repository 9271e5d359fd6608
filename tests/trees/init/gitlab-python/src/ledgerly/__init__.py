"""Double-entry bookkeeping."""

from ledgerly.entry import Entry, balance

__all__ = ["Entry", "balance"]
