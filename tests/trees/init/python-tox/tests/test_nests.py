from rookery import nests


def test_nests() -> None:
    assert nests(2) == 6
