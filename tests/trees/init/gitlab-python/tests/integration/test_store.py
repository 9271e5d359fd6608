import os

import psycopg


def test_store() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
