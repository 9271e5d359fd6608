from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Entry:
    debit: str
    credit: str
    amount: Decimal


def balance(account: str, entries: Iterable[Entry]) -> Decimal:
    total = Decimal(0)
    for entry in entries:
        if entry.debit == account:
            total += entry.amount
        if entry.credit == account:
            total -= entry.amount
    return total
