#!/usr/bin/env python3
"""How PyTorch's reports of events and waits become an order, and how races are reported; skips with a message (77) if
PyTorch is missing."""
import pathlib
import sys
import tempfile
import threading
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import torch
from race_labels_test import line_of, run_in_fork

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

    def test_a_second_stream_that_another_thread_has_made_is_not_forgotten(self):
        def stream_of(tensor):
            thread = threading.Thread(target=fire, args=("StreamCreation", 7))
            thread.start()
            thread.join()
            return 0
        listener.several, listener.stream_of = False, stream_of
        try:
            self.assertTrue(listener.uses_another_stream((torch.zeros(1),)))
            self.assertTrue(listener.several)
        finally:
            del listener.stream_of
            listener.several = False

    def test_the_checks_are_told(self):
        self.assertEqual([message["kind"] for message in hook.messages][0], "checking")


HEAD = """
import torch
from layers import deep, deeper, sums
from streams import Stream, stream, synchronize
side, x, y = Stream(), torch.ones(8), torch.ones(8)
synchronize()
"""
LIBRARY = """
def level(x, depth):
    if depth:
        return level(x, depth - 1)
    x.add_(1)
    x.mul_(2)

def deep(x):
    level(x, 4)

def deeper(x):
    level(x, 40)

def sums(tensors):
    return [each.sum() for each in tensors]
"""


class Told(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        library = pathlib.Path(folder.name) / "site-packages"
        library.mkdir()
        (library / "layers.py").write_text(LIBRARY)
        self.program = pathlib.Path(folder.name) / "program.py"
        self.head = f"import sys; sys.path.append({str(library)!r})" + HEAD

    def races(self, source):
        self.program.write_text(self.head + source)
        told = run_in_fork(str(self.program))
        self.assertEqual((told["notes"], told["failure"]), ([], ""))
        return told["races"]

    def lines(self, source):
        first = self.head.count("\n")
        return [tuple(line_of(race[side], str(self.program)) - first for side in ("first", "second"))
                for race in self.races(source)]

    def test_lines_that_call_the_same_library_are_different_lines(self):
        self.assertEqual(self.lines("""
with stream(side):
    deep(x)
    deep(y)
deep(x)
deep(y)
"""), [(3, 5), (4, 6)])

    def test_two_lines_are_reported_once(self):
        self.assertEqual(self.lines("""
for _ in range(3):
    with stream(side):
        deep(x)
    deep(x)
"""), [(4, 5)])

    def test_a_line_that_is_far_from_the_operator(self):
        self.assertEqual(self.lines("""
with stream(side):
    deeper(x)
deeper(x)
"""), [(3, 4)])

    def test_each_tensor_has_the_name_of_its_own_variable(self):
        for source, names in (("sums((x, y))", ["x", "y"]), ("sums([x] + kept)", ["x", ""]),
                              ("[(y if first else x).sum() for first in (True, False)]", ["x", "y"]),
                              ("[z.sum() for z in (x[:4], y)]", ["z", "z"])):
            with self.subTest(source):
                races = self.races(f"""
kept = [y]
with stream(side):
    {source}
x.zero_()
y.zero_()
""")
                self.assertEqual([race["first"]["name"] for race in races], names)


if __name__ == "__main__":
    unittest.main()
