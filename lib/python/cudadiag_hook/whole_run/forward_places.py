"""The place of an operator's call: its stack, module and step. In a backward pass, also where its node was made.

A forward operator and its node in autograd's graph share a sequence number. The latest stacks are kept by that number.
GPU nodes run on a thread without a Python stack, which works for the thread that called backward().
"""
import _thread
import sys

from ..stacks import OWN_FILE, places_from
from .modules_run import here as module_here
from .modules_run import steps

MOST_KEPT = 1 << 16
MOST_AT_ONCE = 8  # nodes of one operator
RUN_BACKWARD = ("_engine_run_backward", "backward", "grad")  # functions that call the engine, and wait for it


class Latest(_thread._local):
    number = 0  # of the next node
    stack = None  # of the operator that began last, if it is known: (id() of the innermost frame, instruction, places)


def waits_for_backward(frame):
    code = frame.f_code
    return code.co_name in RUN_BACKWARD and "/torch/autograd/" in code.co_filename


def frame_of_program(frame):
    """The innermost frame that is not the hook's."""
    while frame is not None and frame.f_code.co_filename == OWN_FILE:
        frame = frame.f_back
    return frame


def stack_behind_backward():
    """The stack of the thread for which an autograd thread works; empty if several wait, or none waits in Python."""
    waiting = [frame for frame in sys._current_frames().values() if waits_for_backward(frame)]
    return places_from(waiting[0]) if len(waiting) == 1 else ()


class ForwardPlaces:
    def __init__(self):
        self.latest = Latest()
        self.kept = {}  # by sequence number: (thread, stack, module)
        self.threads = set()

    def note_forward(self):
        """Called before each operator."""
        number = sys.modules["torch.autograd"]._get_sequence_nr()
        latest = self.latest.number
        self.latest.stack = None
        if number == latest:
            return
        self.latest.number = number
        thread, frame = _thread.get_ident(), frame_of_program(sys._getframe(1))
        self.threads.add(thread)
        place = (thread, places_from(frame), module_here())
        if frame is not None:
            self.latest.stack = (id(frame), frame.f_lasti, place[1])
        for each in range(max(latest, number - MOST_AT_ONCE), number):
            self.kept[each] = place
        while len(self.kept) > MOST_KEPT:
            del self.kept[next(iter(self.kept))]

    def place(self):
        """(stack, module, step, node, where the node was made or None, whether that is certain)."""
        node = sys.modules["torch"]._C._current_autograd_node()
        frame, known = frame_of_program(sys._getframe(1)), self.latest.stack
        is_known = known is not None and frame is not None and known[:2] == (id(frame), frame.f_lasti)
        stack = known[2] if is_known else places_from(frame)
        if node is None:
            return stack, module_here(), steps.current(), "", None, True
        stack = stack or stack_behind_backward()
        # Numbers belong to threads. If there are several, another thread's operator may have the same number.
        made = self.kept.get(node._sequence_nr())
        return stack, module_here(), steps.current(), node.name().rpartition("::")[2], made, len(self.threads) == 1


places_here = ForwardPlaces()
