#!/usr/bin/env python3
"""Programs do the same with and without the stream of operators; skips with a message (77) if PyTorch is missing."""
import pickle
import re
import sys
import traceback
import unittest
import warnings
import weakref

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
    except (Exception, SystemExit):
        return traceback.format_exc()


FAILING = (lambda: torch.ones(2) @ torch.ones(3), lambda: torch.ones(3)[torch.tensor(7)],
           lambda: torch.ops.aten.view(3, [1]), lambda: torch.ops.aten.add_(torch.ones(2), torch.ones(3)),
           lambda: torch.zeros(1, requires_grad=True).numpy(), backward_twice,
           lambda: torch.zeros(1, requires_grad=True).__dlpack__(), lambda: sys.exit(1))


class Seen(torch.overrides.TorchFunctionMode):
    """Stores the names of the functions that the program calls."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(function.__name__)
        return function(*args, **(kwargs or {}))


def seen_by_a_mode():
    x, y = torch.zeros(2) / 0, torch.ones(2, requires_grad=True)
    loss = (x * y.exp()).sum()
    with Seen() as seen:
        torch.autograd.backward([loss])
        x.numpy(), x.tolist(), str(x), x.data_ptr()
    return seen.names


class Loud(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Loud.calls.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs)


def seen_by_a_subclass():
    Loud.calls.clear()
    x = torch.zeros(2).as_subclass(Loud)
    y = x / 0
    y += torch.cat([y, x])[:2]
    y.tolist(), str(y)
    return list(Loud.calls)


def scripted():
    def loss(scores: torch.Tensor, labels: torch.Tensor, sizes: torch.Tensor):
        return torch.ctc_loss(scores, labels, sizes, sizes - 2)
    made = torch.jit.script(loss)
    return made(torch.zeros(5, 1, 3), torch.tensor([[1, 2, 1]]), torch.tensor([5])).item()


def watched(listener, function, *arguments):
    mode = package.dispatch_mode.push(listener)
    try:
        return function(*arguments)
    finally:
        package.dispatch_mode.pop(mode)


def in_forward_mode():
    doubled = torch.func.jvp(lambda x: (x * 2).sin() + torch.ones(3), (torch.ones(3),), (torch.ones(3),))
    return str(doubled), str(torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(3)))


def of_ragged_rows():
    rows = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]).transpose(1, 2) * 2
    return str([each * 2 for each in rows.unbind()])


def keeps_a_deleted_tensor():
    x = torch.ones(2)
    reference, _ = weakref.ref(x), x + 1
    del x
    return reference() is not None


torch.jit._builtins._get_builtin_table()
package.use_hooks.follow_uses(torch)
package.use_hooks.follow_exit()
package.whole_program.leave_alone(torch)
package.nans.follow_backward()


class Same(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(hook.notes, [])

    def listeners(self):
        races = package.tensor_races.listener
        races.several, races.stream_of = True, lambda tensor: 1
        return package.nans.listener, races, package.origins.listener

    def test_tensors_without_plain_memory(self):
        for function in (in_forward_mode, of_ragged_rows):
            plain = function()
            for listener in self.listeners():
                with self.subTest(function):
                    self.assertEqual(watched(listener, function), plain)
                    self.assertEqual(hook.notes, [])

    def test_deleted_tensors_are_not_kept(self):
        for listener in self.listeners():
            self.assertFalse(watched(listener, keeps_a_deleted_tensor), listener)

    def test_a_traced_function(self):
        layers = Layers().eval()
        for listener in self.listeners():
            for function, example in ((number_added, torch.ones(2)), (of_sizes, torch.ones(2)),
                                      (layers, torch.ones(4, 3))):
                plain = traced(function, example)
                self.assertEqual(watched(listener, traced, function, example), plain)
            self.assertEqual(watched(listener, gradient_of_traced), [3, 3])

    def test_modes_and_subclasses_of_the_program(self):
        for function in (seen_by_a_mode, seen_by_a_subclass):
            plain = function()
            for listener in self.listeners():
                with self.subTest(function):
                    self.assertEqual(watched(listener, function), plain)

    def test_functions_that_are_replaced(self):
        for function in (torch.save, torch.ctc_loss, torch.Tensor.numpy, torch.Tensor.tolist):
            self.assertTrue(hasattr(function, "__wrapped__"))
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
        self.assertIsInstance(scripted(), float)

    @unittest.skipIf(sys.version_info < (3, 11), "these versions of Python restore the frames")
    def test_a_traceback(self):
        for listener in self.listeners():
            for function in FAILING:
                with self.subTest(function):
                    told = watched(listener, traceback_of, function)
                    self.assertRegex(told, "Error|Exit")
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
