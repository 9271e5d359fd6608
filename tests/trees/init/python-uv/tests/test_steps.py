from plover import steps


def test_steps() -> None:
    assert steps(1) == 40
