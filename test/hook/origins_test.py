#!/usr/bin/env python3
"""Where a bad element came from, by CPU tensors; skips aloud (77) where PyTorch is missing."""
import inspect
import sys
import unittest

from hook import Hook

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

package = Hook().load()
package.tensors.devices.append("cpu")
package.budget.state.seconds = 1e9


def remainder():
    hashed = torch.tensor([3, 511]) * 31 % 512  # ORIGIN
    return hashed[1:].clone().reshape(-1), 400


def one_too_many():
    labels = torch.arange(4)
    later = labels + 1  # ORIGIN
    return torch.stack([later, later]), 4


def entered():
    ids = torch.tensor([1, 7, 2])  # ORIGIN
    return torch.cat([torch.zeros(2, dtype=torch.long), ids]), 5


def filled():
    padded = torch.full((2, 4), -1)  # ORIGIN
    padded[:, :2] = torch.ones(2, 2, dtype=torch.long)
    return padded.t(), 5


def into_a_buffer():
    buffer = torch.zeros(8, dtype=torch.long)
    buffer[:4].copy_(torch.arange(4))
    buffer[4:].copy_(torch.arange(4) * 3)  # ORIGIN
    return buffer, 8


def from_floats():
    scores = torch.tensor([0.5, 0.99])
    return (scores * 10 + 1).long(), 10  # ORIGIN


def in_place():
    ids = torch.arange(3)
    ids.add_(1)
    ids.mul_(2)  # ORIGIN
    return ids, 4


def chosen():
    best = torch.tensor([[0.1, 0.2, 0.9]]).argmax(1)  # ORIGIN
    return torch.where(best > 5, torch.zeros_like(best), best), 2


def origin(function):
    listener = package.origins.Origins()
    mode = package.stream.push(listener)
    try:
        tensor, count = function()
    finally:
        package.stream.pop(mode)
    wrong = (tensor < 0) | (tensor >= count)
    found = package.tensors.first_of(wrong, tensor)
    return package.origins.origin_of(listener, tensor, found["first_outside"], found["first_value"],
                                     (0, count))


class Origins(unittest.TestCase):
    def check(self, function, role):
        source, first = inspect.getsourcelines(function)
        marked = next(first + at for at, line in enumerate(source) if "# ORIGIN" in line)
        told = origin(function)
        self.assertEqual((told[0]["role"], told[0]["stack"][0][1]), (role, marked), told)
        return told

    def test_the_operator_that_made_it_is_found(self):
        for function in (remainder, one_too_many, into_a_buffer, from_floats, in_place, chosen):
            with self.subTest(function.__name__):
                self.check(function, "made")

    def test_the_line_where_it_entered_is_found(self):
        self.check(entered, "copied")
        self.check(filled, "passed")

    def test_the_value_and_what_carried_it_are_told(self):
        told = self.check(remainder, "made")
        self.assertEqual((told[0]["operator"], told[0]["value"]), ("aten::remainder.Scalar", 481))
        self.assertEqual([each["operator"] for each in told[1:]], ["aten::clone"])


if __name__ == "__main__":
    unittest.main()
