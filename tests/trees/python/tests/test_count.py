import unittest

from inventory import count


class Count(unittest.TestCase):
    def test_count(self):
        self.assertEqual(count([1, 2]), 2)
