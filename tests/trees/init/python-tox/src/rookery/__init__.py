"""Counts nests."""


def nests(trees: int) -> int:
    """Return how many nests there are."""
    return trees * 3
