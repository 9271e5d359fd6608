"""A part."""


def bills(n: int) -> int:
    """Return n."""
    return n
