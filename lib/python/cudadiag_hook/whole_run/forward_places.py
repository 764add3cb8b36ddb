"""Where an operator is called: its stack, module and step; for one of a backward pass, where its node was made.

A forward operator and its node in autograd's graph share a sequence number. The stacks of the latest are kept by it.
Nodes of a GPU run on a thread that has no Python stack: it works for the thread that called backward().
"""
import _thread
import sys

from ..stacks import places_from
from .modules_run import here as module_here
from .modules_run import steps

MOST_KEPT = 1 << 16
MOST_AT_ONCE = 8  # nodes of one operator
RUN_BACKWARD = ("_engine_run_backward", "backward", "grad")  # call the engine, and wait for it


class Latest(_thread._local):
    number = 0  # the next node's


def waits_for_backward(frame):
    code = frame.f_code
    return code.co_name in RUN_BACKWARD and "/torch/autograd/" in code.co_filename


def stack_behind_backward():
    """The stack of the thread for which a thread of autograd's works; empty if several wait, or none does in Python."""
    waiting = [frame for frame in sys._current_frames().values() if waits_for_backward(frame)]
    return places_from(waiting[0]) if len(waiting) == 1 else ()


class ForwardPlaces:
    def __init__(self):
        self.latest = Latest()
        self.kept = {}  # by sequence number: (thread, stack, module)
        self.threads = set()

    def note_forward(self):
        """Called in front of each operator."""
        number = sys.modules["torch.autograd"]._get_sequence_nr()
        latest = self.latest.number
        if number == latest:
            return
        self.latest.number = number
        thread = _thread.get_ident()
        self.threads.add(thread)
        place = (thread, places_from(sys._getframe(1)), module_here())
        for each in range(max(latest, number - MOST_AT_ONCE), number):
            self.kept[each] = place
        while len(self.kept) > MOST_KEPT:
            del self.kept[next(iter(self.kept))]

    def place(self):
        """(stack, module, step, node, where the node was made or None, whether that is certain)."""
        node = sys.modules["torch"]._C._current_autograd_node()
        stack = places_from(sys._getframe(1))
        if node is None:
            return stack, module_here(), steps.current(), "", None, True
        stack = stack or stack_behind_backward()
        # Numbers belong to threads: with several, another thread's operator may have this one.
        made = self.kept.get(node._sequence_nr())
        return stack, module_here(), steps.current(), node.name().rpartition("::")[2], made, len(self.threads) == 1


places_here = ForwardPlaces()
