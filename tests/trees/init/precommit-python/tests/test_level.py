from pathlib import Path

from tidebook.level import level

DATA = Path(__file__).parent / "data" / "harbour.csv"


def test_level() -> None:
    for line in DATA.read_text().splitlines():
        hours, metres = map(float, line.split(","))
        assert abs(level(hours) - metres) < 0.01
