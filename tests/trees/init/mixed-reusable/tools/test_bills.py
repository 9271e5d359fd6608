from bills import bills


def test_bills() -> None:
    assert bills(1) == 1
