from decimal import Decimal

from ledgerly import Entry, balance


def test_balance() -> None:
    entries = [Entry("cash", "fees", Decimal("20")), Entry("rent", "cash", Decimal("5"))]
    assert balance("cash", entries) == Decimal("15")
