#!/usr/bin/env python3
"""How PyTorch's reports of events and waits become an order; skips with a message (77) if PyTorch is missing."""
import sys
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import torch

if not hasattr(torch._C, "_activate_gpu_trace"):
    print("skipped: this PyTorch was built without CUDA")
    sys.exit(77)
import torch.cuda._gpu_trace as trace

hook = Hook()
package = hook.load()
package.tensor_races.start("on")
torch._C._pop_torch_dispatch_stack(None)
order = package.tensor_races.listener.order


def fire(name, *arguments):
    getattr(trace, name + "Callbacks").fire_callbacks(*arguments)


class Order(unittest.TestCase):
    def setUp(self):
        order.__init__()

    def test_an_event_orders_what_was_issued_before_it(self):
        before = order.issue(1)
        fire("EventRecord", 7, 1)
        after = order.issue(1)
        fire("EventWait", 7, 2)
        order.issue(2)
        self.assertTrue(order.comes_after(2, 1, before))
        self.assertFalse(order.comes_after(2, 1, after))

    def test_an_event_that_is_gone_orders_nothing(self):
        number = order.issue(1)
        fire("EventRecord", 7, 1)
        fire("EventDeletion", 7)
        fire("EventWait", 7, 2)
        order.issue(2)
        self.assertFalse(order.comes_after(2, 1, number))

    def test_the_host_passes_on_what_it_has_seen(self):
        for wait in (("StreamSynchronization", 1), ("DeviceSynchronization",), ("EventSynchronization", 7)):
            with self.subTest(wait[0]):
                order.__init__()
                number = order.issue(1)
                fire("EventRecord", 7, 1)
                order.issue(2)
                self.assertFalse(order.comes_after(2, 1, number))
                fire(*wait)
                order.issue(2)
                self.assertTrue(order.comes_after(2, 1, number))

    def test_waits_of_our_own_order_nothing(self):
        number = order.issue(1)
        package.tensor_races.listener.own = True
        fire("DeviceSynchronization")
        package.tensor_races.listener.own = False
        order.issue(2)
        self.assertFalse(order.comes_after(2, 1, number))

    def test_the_checks_are_told(self):
        self.assertEqual([message["kind"] for message in hook.messages][0], "checking")


if __name__ == "__main__":
    unittest.main()
