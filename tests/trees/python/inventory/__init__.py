"""Counts things."""


def count(items):
    return len(items)
