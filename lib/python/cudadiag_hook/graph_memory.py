"""Finds replays of CUDA graphs that use memory which PyTorch's allocator has given to another tensor since the capture.

The recorder lists the addresses in the nodes of graphs. The allocator's snapshot shows which of its blocks are outside
the pools of captures. The trace callbacks, which PyTorch's own sanitizer uses too, report when such a block is freed and
when it is allocated again. They are turned on after the first capture that uses such a block, and no setting of the
program is changed."""
import sys

from . import recorder
from .budget import give_up, guarded
from .recorder import to_json
from .stacks import frames_of_places, places_from, without_own_frames
from .whole_program import replace, when_torch_is_there

MOST_FINDINGS = 8
MOST_UNCERTAIN = 64


class Block:
    def __init__(self, address, size):
        self.address, self.end = address, address + size
        self.freed = self.taken = self.taken_at = None  # stacks, and the address that was given out


class Words:
    """The addresses in the nodes of graphs: a list of the recorder (lib/record/graphs/graphs.h)."""

    HEAD, ENTRY = "=II", "=QIIII"

    def __init__(self, library):
        import ctypes
        import struct
        self.struct = struct
        self.head, self.entry = struct.calcsize(self.HEAD), struct.calcsize(self.ENTRY)
        words = ctypes.CDLL(library).cudadiag_graph_words
        words.restype = ctypes.c_void_p
        at = words()
        limit = ctypes.c_uint32.from_address(at + 4).value
        self.list = (ctypes.c_char * (self.head + limit * self.entry)).from_address(at)

    def take(self):
        """Returns the entries since the last call: (address, graph, node, offset, whether it may be a leftover)."""
        count, _ = self.struct.unpack_from(self.HEAD, self.list)
        entries = [self.struct.unpack_from(self.ENTRY, self.list, self.head + at * self.entry) for at in range(count)]
        self.struct.pack_into("=I", self.list, 0, 0)
        return entries


class Watch:
    def __init__(self, library):
        self.library, self.words = library, None
        self.graphs = {}  # id of a graph -> [(block, entry of Words)]; a graph need not be hashable
        self.blocks = {}  # those that graphs use and that are not given back, by address
        self.given_back = []
        self.found = self.uncertain = 0
        self.tracing = False

    def prepare(self):
        """Call this before a graph may be instantiated. Drops the addresses in graphs that are not PyTorch's."""
        if self.words is None:  # CUDA, and with it the recorder, has been initialised
            self.words = Words(self.library)
        self.words.take()

    def collect(self, graph, anew):
        """Call this when a graph may have been instantiated. `anew`: it is not what it was before."""
        import weakref
        words = self.words.take() if self.words is not None else []
        if not words and not anew:
            return
        if id(graph) not in self.graphs:
            weakref.finalize(graph, self.graphs.pop, id(graph), None).atexit = False
        uses = []
        for block, use in blocks_of(words):
            kept = self.blocks.setdefault(block.address, block)
            kept.end = block.end
            uses.append((kept, use))
        self.graphs[id(graph)] = uses
        used = {block for each in self.graphs.values() for block, _ in each}
        self.blocks = {at: block for at, block in self.blocks.items() if block in used}
        self.given_back = [block for block in self.given_back if block in used]
        if uses and not self.tracing:
            self.trace()

    def trace(self):
        torch = sys.modules["torch"]
        import torch.cuda._gpu_trace
        torch._C._activate_gpu_trace()
        events = sys.modules["torch.cuda._gpu_trace"]
        events.register_callback_for_memory_allocation(self.taken)
        events.register_callback_for_memory_deallocation(self.freed)
        self.tracing = True

    # The callbacks run inside the allocator, so they must not raise, nor use tensors.

    def freed(self, address):
        block = self.blocks.pop(address, None)
        if block is not None:
            block.freed = places_from(sys._getframe(1))
            self.given_back.append(block)
        for each in self.given_back:
            if each.taken_at == address and each is not block:
                each.taken = each.taken_at = None

    def taken(self, address):
        for each in self.given_back:
            if each.taken is None and each.address <= address < each.end:
                each.taken, each.taken_at = places_from(sys._getframe(1)), address

    def replayed(self, graph, frame):
        """Tells of the first certain use, after which the graph is not followed, and of all that may be leftovers: the
        report knows from the kernels' code which of these are used."""
        kept = []
        for block, use in self.graphs.get(id(graph), ()):
            may_be_leftover = use[4]
            if block.taken is None or (self.uncertain >= MOST_UNCERTAIN if may_be_leftover else self.found >= MOST_FINDINGS):
                kept.append((block, use))
                continue
            self.tell(block, use, frame)
            if may_be_leftover:
                self.uncertain += 1
            else:
                self.found += 1
                kept = []
                break
        self.graphs[id(graph)] = kept

    @staticmethod
    def tell(block, use, frame):
        address, number, node, offset, may_be_leftover = use
        stacks = [frames_of_places(each) for each in (block.freed, block.taken, places_from(frame))]
        recorder.deliver(to_json({
            "kind": "recycled", "graph": number, "node": node, "offset": offset, "address": address,
            "begin": block.address, "bytes": block.end - block.address, "may_be_leftover": bool(may_be_leftover),
            "stacks": stacks}))


def blocks_of(words):
    """Returns the blocks outside the pools of captures that these addresses point into, with the words."""
    import bisect
    starts, sizes = [], []
    for segment in sorted(sys.modules["torch"].cuda.memory_snapshot(), key=lambda segment: segment["address"]):
        if tuple(segment["segment_pool_id"]) == (0, 0):
            at = segment["address"]
            for each in segment["blocks"]:
                if each["state"] == "active_allocated":
                    starts.append(at)
                    sizes.append(each["size"])
                at += each["size"]
    found = []
    for use in words:
        number = bisect.bisect(starts, use[0]) - 1
        if number >= 0 and use[0] < starts[number] + sizes[number]:
            found.append((Block(starts[number], sizes[number]), use))
    # A node may get the begin and the end of a block, and the end is the address of the next block.
    ends = {(graph, node, block.end) for block, (_, graph, node, _, _) in found}
    return [(block, use[:4] + (True,) if (*use[1:3], use[0]) in ends else use) for block, use in found]


def follow(watch):
    graph = sys.modules["torch"].cuda.CUDAGraph

    def instantiates(original):
        def call(self, *args, **kwargs):
            guarded(watch.prepare)
            before = watch.graphs.get(id(self))
            with without_own_frames:
                result = original(self, *args, **kwargs)
            guarded(watch.collect, self, watch.graphs.get(id(self)) is before)  # unless an inner call has collected
            return result

        return call

    def replays(original):
        def replay(self, *args, **kwargs):
            if watch.given_back:
                guarded(watch.replayed, self, sys._getframe(1))
            is_new = not watch.graphs.get(id(self), ())  # a graph that was kept is instantiated by its first replay
            if is_new:
                guarded(watch.prepare)
            with without_own_frames:
                result = original(self, *args, **kwargs)
            if is_new:
                guarded(watch.collect, self, False)
            return result

        return replay

    for name in ("capture_end", "instantiate"):
        replace(graph, name, instantiates)
    replace(graph, "replay", replays)


def begin(library):
    torch = sys.modules["torch"]
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    if not hasattr(torch._C, "_activate_gpu_trace") or not hasattr(torch.cuda, "CUDAGraph"):
        return give_up("this PyTorch does not report its allocations")
    follow(Watch(library))


def start(library):
    when_torch_is_there(lambda: guarded(begin, library))
