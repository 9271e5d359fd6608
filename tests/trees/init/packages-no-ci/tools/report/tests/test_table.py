from report.table import rows


def test_rows() -> None:
    assert rows(["a"]) == 1
