"""A small package."""


def total(prices: list[int]) -> int:
    """The sum of prices."""
    return sum(prices)
