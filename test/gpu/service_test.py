#!/usr/bin/env python3
"""The batching of the service, and the interval of its cost, without a GPU."""

import random
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "python")]
from batching import PAGE, Batcher, Request, chosen_size  # noqa: E402
from service import interval  # noqa: E402


def next_token(token, position):
    return (7 * token + position) % 1000


def expected(prompt, length):
    tokens = list(prompt)
    for position in range(len(prompt) - 1, len(prompt) + length - 1):
        tokens.append(next_token(tokens[position], position))
    return tokens[len(prompt):]


class Batching(unittest.TestCase):
    def test_every_request_gets_its_own_tokens_and_pages(self):
        numbers = random.Random(1)
        batcher = Batcher(pages=24, most_running=8)
        requests = [Request([numbers.randrange(1000) for _ in range(numbers.randrange(1, 40))], numbers.randrange(1, 60))
                    for _ in range(200)]
        for request in requests:
            batcher.submit(request)
        most = 0
        while not all(request.finished.is_set() for request in requests):
            batcher.admit(patience=0)
            rows = batcher.rows()
            held = [page for _, _, pages in rows for page in pages]
            self.assertEqual(len(held), len(set(held)))
            self.assertNotIn(0, held)
            self.assertTrue(all(position < PAGE * len(pages) for _, position, pages in rows))
            most = max(most, len(rows))
            batcher.advance([next_token(token, position) for token, position, _ in rows], 0.0)
        self.assertGreater(most, 2)
        self.assertEqual(sorted(batcher.free), list(range(1, 24)))
        for request in requests:
            self.assertEqual(request.tokens, expected(request.prompt, request.length))

    def test_times_between_tokens_leave_out_the_prompt(self):
        batcher = Batcher(pages=4, most_running=2)
        batcher.submit(Request([5, 6, 7], 3))
        batcher.admit(patience=0)
        self.assertEqual([batcher.advance([1], now) for now in (10, 20, 31, 43, 56)], [[], [], [], [12], [13]])

    def test_a_failure_ends_running_and_waiting_requests(self):
        batcher = Batcher(pages=3, most_running=1)
        requests = [Request([1], 4), Request([2], 4)]
        for request in requests:
            batcher.submit(request)
        batcher.admit(patience=0)
        batcher.fail_all("lost")
        self.assertEqual([(each.error, each.finished.is_set()) for each in requests], [("lost", True)] * 2)

    def test_the_smallest_graph_with_room_is_chosen(self):
        self.assertEqual([chosen_size((1, 2, 4, 8), rows) for rows in (1, 2, 3, 8)], [1, 2, 4, 8])


class Cost(unittest.TestCase):
    def test_the_interval_is_that_of_pairs(self):
        mean, low, high = interval([202, 101, 303], [200, 100, 300])  # each 1 % more, at different speeds
        self.assertAlmostEqual(mean, 1)
        self.assertAlmostEqual(low, 1)
        self.assertAlmostEqual(high, 1)

    def test_the_interval_widens_with_the_spread(self):
        mean, low, high = interval([100, 102, 98, 100], [100] * 4)
        self.assertLess(low, -2)
        self.assertGreater(high, 2)
        self.assertLess(abs(mean), 0.1)


if __name__ == "__main__":
    unittest.main()
