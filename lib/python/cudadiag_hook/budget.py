"""The time that code of ours may take, and the end of it: by that time, or by an error."""
import sys

from . import recorder
from .json_text import to_json
from .stacks import OWN_FILE
from .tensor_data.tensors import MOST_TEXT


class State:
    def __init__(self):
        self.seconds = 10.0  # that taking values may cost
        self.spent = 0.0
        self.on = True
        self.tool = None  # of sys.monitoring, where that shows the lines
        self.ends = []  # called when it is switched off


state = State()


def clock():
    time = sys.modules.get("time")
    return time.perf_counter() if time is not None else 0.0


def give_up(why):
    if state.on:
        state.on = False
        for end in state.ends:
            end()
        recorder.note("values were taken up to here: " + why)


def is_from_handler(error):
    """Whether a handler of the program's raised it, of a signal that came while code of ours ran. The interpreter gives
    a handler the frame that it interrupts."""
    step = error.__traceback__
    while step is not None:
        code, caller = step.tb_frame.f_code, step.tb_frame.f_back
        if caller is not None and code.co_filename != OWN_FILE and code.co_flags & 1:  # optimised: plain locals
            for value in list(step.tb_frame.f_locals.values()):
                if any(each is caller for each in (value if type(value) is tuple else (value,))):
                    return True
        step = step.tb_next
    return False


def swallow(error):
    """Called where one was caught. No error of ours reaches the target; what its own handlers raise does."""
    if is_from_handler(error):
        if state.tool is None:
            give_up("a signal's handler raised an exception there")  # which ends tracing
        raise error
    # A copy that fails means that an earlier operation has: nothing more can be learnt in this process.
    give_up("%s: %s" % (type(error).__name__, str(error).partition("\n")[0][:MOST_TEXT]))


def guarded(function, *arguments):
    """Runs it on the budget."""
    if not state.on:
        return False
    started = clock()
    try:
        return function(*arguments)
    except Exception as error:
        swallow(error)
        return False
    finally:
        state.spent += clock() - started
        if state.spent > state.seconds:
            give_up("the time for it, %.0f s, was over" % state.seconds)


def tell(message):
    return recorder.deliver(to_json(message))


