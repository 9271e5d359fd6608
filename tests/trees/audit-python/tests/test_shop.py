from shop import total


def test_orders(orders):
    for one, other, country, want in orders:
        assert total([int(one), int(other)], country) == float(want)
