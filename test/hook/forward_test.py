#!/usr/bin/env python3
"""Where PyTorch created the nodes that it runs backwards, as the hook reports it; skips with a message (77) if PyTorch
is missing."""
import sys
import threading
import traceback
import unittest
import warnings
from unittest import mock

from hook import Hook, need_pytorch

need_pytorch()
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def line_of(mark):
    with open(__file__) as source:
        return 1 + next(i for i, line in enumerate(source) if line.endswith("# " + mark + "\n"))


def inner(x):
    return x.gather(0, torch.tensor([0, 0]))  # INNER


def gathers(x):
    y = x.gather(0, torch.tensor([1, 2]))  # OUTER
    return y.sum() + inner(x).sum()


def checkpointed(x, use_reentrant):
    return checkpoint(inner, x, use_reentrant=use_reentrant).sum()


class Behind(unittest.TestCase):
    """Imitates an autograd thread, which has no Python stack, and the thread that waits for it, which has one."""

    def test_the_waiting_stack_is_looked_for_once_in_a_backward_pass(self):
        names, found = {}, []
        exec(compile("import sys\ndef backward():\n    return sys._getframe()", "/torch/autograd/__init__.py", "exec"), names)
        waiting, places = {1: names["backward"]()}, Hook().load().operator_places.ForwardPlaces()

        class Asks(Scale):
            @staticmethod
            def backward(ctx, grad):
                for threads in self.threads:
                    with mock.patch.object(sys, "_current_frames", lambda: threads):
                        found.append(places.stack_behind_backward(torch._C))
                return grad

        for self.threads in (({}, waiting, {}), ({},)):
            Asks.apply(torch.ones(2, requires_grad=True)).sum().backward()
        self.assertEqual([len(each) > 0 for each in found], [False, True, True, False])


class Forward(unittest.TestCase):
    def setUp(self):
        self.engine = torch.autograd.graph._engine_run_backward
        self.x = torch.arange(4.0, requires_grad=True)

    def tearDown(self):
        torch.autograd._engine_run_backward = torch.autograd.graph._engine_run_backward = self.engine
        torch.set_anomaly_enabled(False)

    def hook(self, *names, **options):
        hook = Hook(nodes=names, **options).begin()
        self.addCleanup(lambda: self.assertEqual(hook.notes, []))
        return hook

    def told(self, hook):
        """Returns (name, line of this file) for each node that was run. The line is that on which the node, or else its
        parent, was created."""
        found = []
        for message in hook.of_kind("forward"):
            lines = [line for stack in message["stacks"] for file, line, _ in stack if file == __file__]
            found.append((message["node"], lines[0] if lines else None))
        return found

    def test_each_node_has_the_line_that_made_it(self):
        hook = self.hook("GatherBackward0")
        gathers(self.x).backward()
        self.assertEqual(sorted(self.told(hook)),
                         sorted([("GatherBackward0", line_of("INNER")), ("GatherBackward0", line_of("OUTER"))]))
        self.assertEqual(self.x.grad.tolist(), [2, 1, 1, 0])

    def test_numbers_are_those_of_the_nodes(self):
        hook = self.hook("GatherBackward0")
        y = inner(self.x)
        number = y.grad_fn._sequence_nr()
        y.sum().backward()
        self.assertEqual([message["number"] for message in hook.of_kind("forward")], [number])

    def test_a_function_of_the_users(self):
        hook = self.hook("PyNode")
        Scale.apply(self.x).sum().backward()  # APPLIED
        self.assertEqual(self.told(hook), [("ScaleBackward", line_of("APPLIED"))])

    def test_backward_of_a_backward_leads_to_its_parents_line(self):
        hook = self.hook("MulBackward0")
        y = (self.x * self.x).sum()  # SQUARED
        (grad,) = torch.autograd.grad(y, self.x, create_graph=True)
        grad.sum().backward()
        told = self.told(hook)
        self.assertTrue(len(told) >= 2, told)
        self.assertEqual(set(told), {("MulBackward0", line_of("SQUARED"))})
        # The node's own stack must not contain frames of the call that ran its parent.
        second = [message for message in hook.of_kind("forward") if len(message["stacks"]) == 2]
        self.assertEqual([frame for message in second for frame in message["stacks"][0]], [])

    def test_checkpoints(self):
        for use_reentrant in (False, True):
            hook = self.hook("GatherBackward0")
            checkpointed(self.x, use_reentrant).backward()
            told = self.told(hook)
            self.assertEqual(told, [("GatherBackward0", line_of("INNER"))], f"reentrant {use_reentrant}")

    def test_other_threads(self):
        hook = self.hook("GatherBackward0")
        made = []
        thread = threading.Thread(target=lambda: made.append(inner(self.x)))
        thread.start()
        thread.join()
        made[0].sum().backward()
        self.assertEqual(self.told(hook)[0], ("GatherBackward0", line_of("INNER")))

    def test_all_nodes_where_the_name_is_not_known(self):
        hook = self.hook("*")
        (inner(self.x) + 1).sum().backward()
        self.assertEqual([name for name, _ in self.told(hook)],
                         ["SumBackward0", "AddBackward0", "GatherBackward0", "AccumulateGrad"])

    def test_nothing_is_kept_before_the_suspect_call_is_near(self):
        hook = self.hook("GatherBackward0", near=False)
        inner(self.x).sum().backward()
        self.assertFalse(torch.is_anomaly_enabled())
        hook.is_near = True
        inner(self.x).sum().backward()  # these nodes were created earlier
        self.assertEqual(hook.messages, [])
        self.assertTrue(torch.is_anomaly_enabled())
        inner(self.x).sum().backward()
        self.assertEqual(len(hook.of_kind("forward")), 1)

    def test_the_budget_ends_it(self):
        hook = Hook(nodes=["GatherBackward0"], seconds=1e-3).begin()
        for _ in range(3):
            gathers(self.x).backward()
        self.assertFalse(torch.is_anomaly_enabled())
        self.assertIn("was reached", hook.notes[0])

    def test_anomaly_mode_of_the_programs_own_stays(self):
        torch.set_anomaly_enabled(True)
        hook = self.hook("GatherBackward0")
        gathers(self.x).backward()
        hook.is_near = False
        gathers(self.x).backward()
        self.assertTrue(torch.is_anomaly_enabled())
        self.assertTrue(torch.is_anomaly_check_nan_enabled())

    def test_hooks_are_gone_afterwards(self):
        hook = self.hook("GatherBackward0")
        y = inner(self.x).sum()
        y.backward(retain_graph=True)
        first = len(hook.messages)
        self.engine((y,), (torch.tensor(1.0),), False, False, (), allow_unreachable=True, accumulate_grad=True)
        self.assertEqual(len(hook.messages), first)

    def test_an_error_in_a_backward_pass_is_the_programs(self):
        self.hook("PyNode")

        class Raises(Scale):
            @staticmethod
            def backward(ctx, grad):
                raise KeyError("mine")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                Raises.apply(self.x).sum().backward()
            except KeyError:
                told = traceback.format_exc()
        self.assertIn("mine", told)
        if sys.version_info >= (3, 11):  # earlier versions restore the frames
            self.assertNotIn("<cudadiag>", told)


if __name__ == "__main__":
    unittest.main()
