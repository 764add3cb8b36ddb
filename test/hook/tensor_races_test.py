#!/usr/bin/env python3
"""How PyTorch's reports of events and waits become an order; skips with a message (77) if PyTorch is missing."""
import sys
import threading
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
listener = package.tensor_races.listener
order = listener.order


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
        listener.own.calls = True
        fire("DeviceSynchronization")
        listener.own.calls = False
        order.issue(2)
        self.assertFalse(order.comes_after(2, 1, number))

    def test_waits_of_another_thread_count_while_an_index_is_read(self):
        number, original = order.issue(1), torch.Tensor.tolist

        def tolist(tensor):
            thread = threading.Thread(target=fire, args=("StreamSynchronization", 1))
            thread.start()
            thread.join()
            return original(tensor)

        torch.Tensor.tolist = tolist
        try:
            args = (torch.zeros(8, 2), 0, torch.tensor([1, 2]))
            listener.issue(package.schemas.facts_of(torch.ops.aten.index_select.default), args, {})
        finally:
            torch.Tensor.tolist = original
        order.issue(2)
        self.assertTrue(order.comes_after(2, 1, number))

    def test_a_query_that_finds_finished_work_is_a_wait(self):
        unrecorded = torch.cuda.Event()  # its handle is 0, and PyTorch regards it as finished
        finds = package.tensor_races.seen_by_query(lambda self: order.reached_by(1))
        for ask, ordered in ((unrecorded.query, True), (lambda: finds(lambda self: True)(self), True),
                             (lambda: finds(lambda self: False)(self), False),
                             (lambda: package.tensor_races.seen_by_time(lambda a, b: 1.5)(unrecorded, unrecorded), True)):
            order.__init__()
            number = order.issue(1)
            fire("EventRecord", 0, 1)
            ask()
            order.issue(2)
            self.assertEqual(order.comes_after(2, 1, number), ordered)

    def test_a_query_does_not_order_what_was_issued_during_it(self):
        later = []
        finds = package.tensor_races.seen_by_query(lambda self: order.reached_by(1))
        self.assertTrue(finds(lambda self: later.append(order.issue(1)) or True)(self))
        order.issue(2)
        self.assertFalse(order.comes_after(2, 1, later[0]))

    def test_the_queries_are_replaced(self):
        for query in (torch.cuda.Event.query, torch.cuda.Event.elapsed_time, torch.cuda.Stream.query):
            self.assertTrue(hasattr(query, "__wrapped__"), query)

    def test_threads_at_once(self):
        """No thread loses another thread's update, and none reads a clock that changes meanwhile."""
        failures, numbers = [], []

        def work(first):
            try:
                for stream in range(first, 801, 4):
                    numbers.append(order.issue(1000 + stream % 2))
                    order.issue(stream)
                    order.host_waits_for_stream(stream)
            except Exception as error:
                failures.append(error)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work, args=(first,)) for first in range(1, 5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        self.assertEqual(failures, [])
        self.assertEqual(sorted(numbers), sorted([*range(1, 401)] * 2))

    def test_the_checks_are_told(self):
        self.assertEqual([message["kind"] for message in hook.messages][0], "checking")


if __name__ == "__main__":
    unittest.main()
