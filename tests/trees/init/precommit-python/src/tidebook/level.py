# tidebook: tide tables for small harbours
from math import cos, pi


def level(hours: float, mean: float = 2.0, range_: float = 3.0) -> float:
    """Water level in metres, by a single harmonic of 12.42 hours."""
    return mean + range_ / 2 * cos(2 * pi * hours / 12.42)
