"""Runs along the shore."""


def steps(metres: int) -> int:
    """Return how many steps that is."""
    return metres * 40
