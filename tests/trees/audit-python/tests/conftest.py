import csv
from pathlib import Path

import pytest


@pytest.fixture
def orders():
    with open(Path(__file__).parent / "data" / "orders.csv") as file:
        return list(csv.reader(file))
