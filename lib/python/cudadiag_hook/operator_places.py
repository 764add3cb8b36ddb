"""Where an operator is called: its stack, module and step. In a backward pass, also where its node was created.

A forward operator and its node in autograd's graph share a sequence number. The latest stacks are kept by that number.
GPU nodes run on a thread that has no Python stack, on behalf of the thread that called backward().
"""
import _thread
import sys

from .stacks import OWN_FILE, places_from
from .modules_run import here as module_here, steps

MOST_KEPT = 1 << 16
MOST_AT_ONCE = 8  # the most nodes that one operator creates
NO_TASK = -1
RUN_BACKWARD = ("_engine_run_backward", "backward", "grad")  # functions that call the engine and wait for it


class Latest(_thread._local):
    number = 0  # sequence number of the thread's next node


def waits_for_backward(frame):
    code = frame.f_code
    return code.co_name in RUN_BACKWARD and "/torch/autograd/" in code.co_filename


def frame_of_program(frame):
    """Returns the innermost frame that is not the hook's."""
    while frame is not None and frame.f_code.co_filename == OWN_FILE:
        frame = frame.f_back
    return frame


def stack_behind_backward():
    """Returns the stack of the thread that waits for an autograd thread; empty unless exactly one Python thread
    waits."""
    waiting = [frame for frame in sys._current_frames().values() if waits_for_backward(frame)]
    return places_from(waiting[0]) if len(waiting) == 1 else ()


class ForwardPlaces:
    def __init__(self):
        self.latest = Latest()
        self.kept = {}  # by sequence number: (stack, module)
        self.latest_kept = (None, None)
        self.threads = set()
        self.behind = (NO_TASK, ())  # (id of the latest backward pass, stack of the thread that waits for it)

    def note_forward(self):
        """Called before each operator. Returns its stack if autograd has just created a node, else None."""
        number = sys.modules["torch.autograd"]._get_sequence_nr()
        latest = self.latest.number
        if number == latest:
            return None
        self.latest.number = number
        self.threads.add(_thread.get_ident())
        stack, module = places_from(frame_of_program(sys._getframe(1))), module_here()
        made = self.latest_kept
        if made[0] is not stack or made[1] is not module:
            made = self.latest_kept = (stack, module)
        for each in range(max(latest, number - MOST_AT_ONCE), number):
            self.kept[each] = made
        if len(self.kept) > MOST_KEPT:
            for each in list(self.kept)[:MOST_KEPT // 8]:  # the oldest; another thread may be removing them, too
                self.kept.pop(each, None)
        return stack

    def place(self, stack=None):
        """Returns (stack, module, step, node, where the node was created or None, whether that is certain). `stack` may
        be passed if it is known."""
        core = sys.modules["torch"]._C
        node = core._current_autograd_node()
        if stack is None:
            stack = places_from(frame_of_program(sys._getframe(1)))
        if node is None:
            return stack, module_here(), steps.current(), "", None, True
        stack = stack or self.stack_behind_backward(core)
        # Each thread has its own count, so operators of two threads may share a number.
        made = self.kept.get(node._sequence_nr())
        return stack, module_here(), steps.current(), node.name().rpartition("::")[2], made, len(self.threads) == 1

    def stack_behind_backward(self, core):
        """Looks for the stack once per backward pass, since the waiting thread does not move until the pass ends."""
        task = core._current_graph_task_id() if hasattr(core, "_current_graph_task_id") else NO_TASK
        known, stack = self.behind
        if task == NO_TASK or task != known:
            stack = stack_behind_backward()
            if stack:
                self.behind = (task, stack)
        return stack


places_here = ForwardPlaces()
