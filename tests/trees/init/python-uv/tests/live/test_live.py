def test_live() -> None:
    assert True
