#!/usr/bin/env python3
"""Which replays use memory that the allocator has given to another tensor. The module `torch` is a small one of ours,
whose allocator does what the tests tell it to do."""
import sys
import types
import unittest

from hook import Hook

POOL, OTHER_POOL = (0, 0), (0, 1)


class Callbacks:
    def __init__(self):
        self.all = []

    def fire(self, address):
        for each in self.all:
            each(address)


class Allocator:
    """Segments of 1,000 bytes, by number. A block is at a place in a segment."""

    def __init__(self):
        self.allocated, self.freed, self.activated = Callbacks(), Callbacks(), 0
        self.pools, self.blocks = {1: POOL, 2: OTHER_POOL}, {}

    def take(self, address, size):
        self.blocks[address] = size
        self.allocated.fire(address)

    def give_back(self, address):
        del self.blocks[address]
        self.freed.fire(address)

    def snapshot(self):
        return [{"address": number * 1000, "total_size": 1000, "segment_pool_id": pool, "blocks": self.parts(number)}
                for number, pool in self.pools.items()]

    def parts(self, number):
        at, parts = number * 1000, []
        for address, size in sorted(self.blocks.items()):
            if number * 1000 <= address < (number + 1) * 1000:
                parts += [{"size": address - at, "state": "inactive"}] * (address > at)
                parts.append({"size": size, "state": "active_allocated"})
                at = address + size
        return parts + [{"size": (number + 1) * 1000 - at, "state": "inactive"}]


allocator = Allocator()
words = []  # of graphs that are about to be instantiated


class Graph:
    """`uses`: addresses in its nodes, negative for those that may be leftovers."""

    def __init__(self, *uses):
        self.uses, self.replays, self.of_one_node = uses, 0, False

    def capture_end(self):
        """Ends the capture."""
        words.extend((abs(address), 7, 0 if self.of_one_node else number, 8 * number, address < 0)
                     for number, address in enumerate(self.uses))

    def instantiate(self):
        self.capture_end()

    def replay(self):
        self.replays += 1
        return self.replays


def make_torch():
    torch, trace = types.ModuleType("torch"), types.ModuleType("torch.cuda._gpu_trace")
    torch.cuda = types.ModuleType("torch.cuda")
    torch.__path__ = torch.cuda.__path__ = []
    torch.__version__ = "2.15.0"
    torch.cuda.CUDAGraph, torch.cuda._gpu_trace = Graph, trace
    torch.cuda.memory_snapshot = lambda: allocator.snapshot()
    torch._C = types.SimpleNamespace(_activate_gpu_trace=lambda: setattr(allocator, "activated", allocator.activated + 1))
    trace.register_callback_for_memory_allocation = lambda call: allocator.allocated.all.append(call)
    trace.register_callback_for_memory_deallocation = lambda call: allocator.freed.all.append(call)
    sys.modules.update({"torch": torch, "torch.cuda": torch.cuda, "torch.cuda._gpu_trace": trace})


make_torch()
hook = Hook()
module = hook.load().graph_memory


class Words:
    def __init__(self, library):
        pass

    def take(self):
        taken = words[:]
        words.clear()
        return taken


module.Words = Words
module.start("libcudadiag_record.so")


class Replays(unittest.TestCase):
    def setUp(self):
        allocator.__init__()
        hook.messages.clear()
        watch = next(cell.cell_contents for cell in Graph.replay.__closure__ if hasattr(cell.cell_contents, "graphs"))
        watch.__init__("")

    def captured(self, *uses):
        graph = Graph(*uses)
        graph.capture_end()
        return graph

    def recycled(self):
        return hook.of_kind("recycled")

    def test_a_block_that_belongs_to_another_tensor_is_told_with_three_lines(self):
        allocator.take(1100, 200)
        graph = self.captured(1150)
        allocator.give_back(1100)
        allocator.take(1100, 200)
        self.assertEqual(graph.replay(), 1)
        found, = self.recycled()
        self.assertEqual([found[name] for name in ("graph", "node", "address", "begin", "bytes")],
                         [7, 0, 1150, 1100, 200])
        first = sys._getframe().f_lineno - 7
        self.assertEqual([stack[0][1] for stack in found["stacks"]][2], first + 3)
        self.assertEqual([[frame[2].rpartition(".")[2] for frame in stack][:2] for stack in found["stacks"][:2]],
                         [["fire", "give_back"], ["fire", "take"]])
        graph.replay()
        self.assertEqual(len(self.recycled()), 1)

    def test_uses_that_may_be_leftovers_are_told_too_and_do_not_end_the_search(self):
        for address in 1100, 1300, 1500:
            allocator.take(address, 200)
        graph = self.captured(-1100, -1300, 1500)
        for address in 1100, 1300:
            allocator.give_back(address)
            allocator.take(address, 200)
            graph.replay()
        allocator.give_back(1500)
        allocator.take(1500, 200)
        graph.replay()
        graph.replay()
        self.assertEqual([(found["address"], found["may_be_leftover"]) for found in self.recycled()],
                         [(1100, True), (1300, True), (1500, False)])

    def test_a_part_of_the_block_is_enough(self):
        allocator.take(1100, 200)
        graph = self.captured(1100)
        allocator.give_back(1100)
        allocator.take(1250, 50)
        graph.replay()
        self.assertEqual(len(self.recycled()), 1)

    def test_a_block_that_nobody_has_taken_is_not_told(self):
        allocator.take(1100, 200)
        graph = self.captured(1100)
        allocator.give_back(1100)
        graph.replay()
        allocator.take(1400, 200)
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_a_block_whose_new_tensor_is_gone_again_is_not_told(self):
        allocator.take(1100, 200)
        graph = self.captured(1100)
        allocator.give_back(1100)
        allocator.take(1100, 200)
        allocator.give_back(1100)
        graph.replay()
        self.assertEqual(self.recycled(), [])
        allocator.take(1100, 100)
        graph.replay()
        self.assertEqual(len(self.recycled()), 1)

    def test_blocks_of_a_pool_for_captures_may_be_reused(self):
        allocator.take(2100, 200)
        graph = self.captured(2100)
        self.assertEqual(allocator.activated, 0)
        allocator.give_back(2100)
        allocator.take(2100, 200)
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_a_block_that_was_free_during_the_capture_is_not_told(self):
        graph = self.captured(1100)
        allocator.take(1100, 200)
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_a_graph_that_is_captured_again_uses_what_it_captured_last(self):
        allocator.take(1100, 200)
        graph = self.captured(1100)
        allocator.give_back(1100)
        allocator.take(1100, 200)
        graph.capture_end()
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_a_graph_without_such_a_block_costs_nothing(self):
        allocator.take(2100, 200)
        self.captured(2100, 2150)
        self.assertEqual((allocator.activated, allocator.allocated.all), (0, []))

    def test_a_graph_that_was_kept_is_known_once_it_is_instantiated(self):
        allocator.take(1100, 200)
        graph = Graph(1100)
        graph.instantiate()
        allocator.give_back(1100)
        allocator.take(1100, 200)
        graph.replay()
        self.assertEqual(len(self.recycled()), 1)

    def test_addresses_in_graphs_that_are_not_pytorchs_are_dropped(self):
        allocator.take(1100, 200)
        words.append((1100, 3, 0, 0, False))
        graph = self.captured()
        allocator.give_back(1100)
        allocator.take(1100, 200)
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_a_graph_that_is_captured_again_without_addresses_uses_none(self):
        allocator.take(1100, 200)
        graph = self.captured(1100)
        allocator.give_back(1100)
        allocator.take(1100, 200)
        graph.uses = ()
        graph.capture_end()
        graph.replay()
        self.assertEqual(self.recycled(), [])

    def test_the_end_of_a_block_may_be_no_use_of_the_next_one(self):
        allocator.take(1100, 100)
        allocator.take(1200, 100)
        graph = Graph(1100, 1200)
        graph.of_one_node = True
        graph.capture_end()
        allocator.give_back(1200)
        allocator.take(1200, 100)
        graph.replay()
        self.assertEqual([found["may_be_leftover"] for found in self.recycled()], [True])

    def test_a_graph_need_not_be_hashable(self):
        class Unhashable(Graph):
            __hash__ = None
        graph = Unhashable(1100)
        allocator.take(1100, 200)
        graph.capture_end()
        allocator.give_back(1100)
        allocator.take(1100, 200)
        graph.replay()
        self.assertEqual(len(self.recycled()), 1)

    def test_the_graphs_own_methods_keep_their_names(self):
        self.assertEqual((Graph.capture_end.__name__, Graph.capture_end.__doc__), ("capture_end", "Ends the capture."))


if __name__ == "__main__":
    unittest.main()
