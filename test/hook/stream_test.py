#!/usr/bin/env python3
"""Programs do the same with and without the stream of operators; skips with a message (77) if PyTorch is missing."""
import re
import sys
import traceback
import unittest
import warnings

from hook import Hook, need_pytorch

need_pytorch()
import torch

hook = Hook()
package = hook.load()
warnings.simplefilter("ignore")  # the tracer warns about Python numbers


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.normal = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)

    def forward(self, x):
        y = self.normal(self.linear(x)) * 2 - 1.5
        y[:, 0] = 3
        return torch.where(y > 0, y, torch.zeros(1)) / x.size(0), y.view(y.size(0), -1), x * 2.5 + 1j


def number_added(x):
    return torch.relu(x) + 1


def of_sizes(x):
    return x.clamp(0, 2) * x.shape[0] + torch.arange(x.shape[0]) // 2 + x.to(torch.float16).add(1).float()


def traced(function, example):
    """Returns the graph that torch.jit.trace records, and what the traced function returns."""
    made = torch.jit.trace(function, example)
    return re.sub(r"\.___torch_mangle_\d+", "", str(made.graph)), [str(made(example + number)) for number in range(3)]


def gradient_of_traced():
    x = torch.ones(2, requires_grad=True)
    torch.jit.trace(lambda x: (x * 3 + 1).sum(), x)(x).backward()
    return x.grad.tolist()


def backward_twice():
    loss = torch.ones(2, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


def traceback_of(function):
    try:
        function()
    except Exception:
        return traceback.format_exc()


FAILING = (lambda: torch.ones(2) @ torch.ones(3), lambda: torch.ones(3)[torch.tensor(7)],
           lambda: torch.ops.aten.view(3, [1]), lambda: torch.ops.aten.add_(torch.ones(2), torch.ones(3)),
           lambda: torch.zeros(1, requires_grad=True).numpy(), backward_twice)


def watched(listener, function, *arguments):
    mode = package.stream.push(listener)
    try:
        return function(*arguments)
    finally:
        package.stream.pop(mode)


package.uses.follow_uses(torch)
package.nans.follow_backward()


class Same(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(hook.notes, [])

    def listeners(self):
        races = package.tensor_races.listener
        races.several, races.stream_of = True, lambda tensor: 1
        return package.nans.listener, races

    def test_a_traced_function(self):
        layers = Layers().eval()
        for listener in self.listeners():
            for function, example in ((number_added, torch.ones(2)), (of_sizes, torch.ones(2)),
                                      (layers, torch.ones(4, 3))):
                plain = traced(function, example)
                self.assertEqual(watched(listener, traced, function, example), plain)
            self.assertEqual(watched(listener, gradient_of_traced), [3, 3])

    @unittest.skipIf(sys.version_info < (3, 11), "these versions of Python restore the frames")
    def test_a_traceback(self):
        for listener in self.listeners():
            for function in FAILING:
                with self.subTest(function):
                    told = watched(listener, traceback_of, function)
                    self.assertIn("Error", told)
                    self.assertNotIn(package.stacks.OWN_FILE, told)
                    self.assertNotIn("During handling", told)

    def test_an_operator_that_has_failed_is_not_called_again(self):
        calls = []

        @torch.library.custom_op("cudadiag_test::refuse", mutates_args=())
        def refuse(x: torch.Tensor) -> torch.Tensor:
            calls.append(x)
            raise RuntimeError("Expected a value of type 'Tensor', and 1 was given")

        for listener in self.listeners():
            calls.clear()
            with self.assertRaises(RuntimeError):
                watched(listener, refuse, torch.ones(1))
            self.assertEqual(len(calls), 1)


if __name__ == "__main__":
    unittest.main()
