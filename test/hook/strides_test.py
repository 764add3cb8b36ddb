#!/usr/bin/env python3
"""Which bytes two strided tensors share, compared with counting them one by one."""
import random
import unittest

from hook import Hook

strides = Hook().load().uses_of_memory


def bytes_of(begin, element, shape, steps):
    starts = {begin}
    for count, step in zip(shape, steps):
        starts = {start + at * step * element for start in starts for at in range(count)}
    return {start + byte for start in starts for byte in range(element)}


def shared(a, b):
    return strides.common([strides.pieces_of(*a)], [strides.pieces_of(*b)])


class Strides(unittest.TestCase):
    def test_two_columns_of_one_matrix_share_nothing(self):
        left, right = (1000, 4, (512, 4), (8, 1)), (1016, 4, (512, 4), (8, 1))
        self.assertIsNone(shared(left, right))
        self.assertEqual(shared(left, left), (1000, 1000 + 511 * 32 + 16, 512 * 16))

    def test_two_slices_share_what_lies_in_both(self):
        self.assertEqual(shared((0, 4, (3 << 20,), (1,)), (1 << 22, 4, (3 << 20,), (1,))), (1 << 22, 3 << 22, 2 << 22))

    def test_windows_that_overlap_are_not_compared(self):
        self.assertIsNone(strides.pieces_of(0, 4, (8, 3), (1, 1)))
        self.assertIsNone(strides.pieces_of(0, 4, (8, 0), (1, 1)))

    def test_random_views(self):
        chance = random.Random(7)

        def view():
            shape, steps, step = [], [], 1 + chance.randrange(3)
            for _ in range(chance.randrange(4)):
                shape.append(1 + chance.randrange(5))
                steps.append(step)
                step = step * shape[-1] + chance.randrange(4)
            return 4000 + 4 * chance.randrange(41), 4, tuple(shape), tuple(steps)

        compared = 0
        for _ in range(1500):
            a, b = view(), view()
            if strides.pieces_of(*a) is None or strides.pieces_of(*b) is None:
                continue
            compared += 1
            both = bytes_of(*a) & bytes_of(*b)
            self.assertEqual(shared(a, b), (min(both), max(both) + 1, len(both)) if both else None, (a, b))
        self.assertGreater(compared, 1000)


if __name__ == "__main__":
    unittest.main()
