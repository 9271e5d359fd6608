def rows(lines: list[str]) -> int:
    """Counts rows."""
    return len(lines)
