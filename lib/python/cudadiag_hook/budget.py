"""Limits the time that each subject of the hook may take. A subject is switched off when its time is spent, or at an
error."""
import sys

from . import recorder
from .recorder import to_json
from .stacks import OWN_FILE
from .tensor_data.tensors import MOST_TEXT


class Budget:
    def __init__(self):
        self.seconds = 10.0  # limit
        self.spent = 0.0
        self.on = True
        self.tool = None  # tool id in sys.monitoring; None if sys.settrace reports the lines
        self.ends = []  # called when the subject is switched off

    def give_up(self, why):
        if self.on:
            self.on = False
            for end in self.ends:
                end()
            recorder.note("the Python hook stopped: " + why)

    def swallow(self, error):
        """Handles a caught exception. Exceptions of the hook do not reach the target, but those of the target's signal
        handlers are raised again."""
        if is_from_handler(error):
            if self.tool is None:
                self.give_up("a signal handler raised an exception")  # an exception ends tracing with sys.settrace
            raise error
        # A failed copy means that an earlier operation has failed, so no more values can be read in this process.
        self.give_up("%s: %s" % (type(error).__name__, str(error).partition("\n")[0][:MOST_TEXT]))

    def guarded(self, function, *arguments):
        """Runs the function, and counts its time. Returns False if the subject is off or the function fails."""
        if not self.on:
            return False
        started = clock()
        try:
            return function(*arguments)
        except Exception as error:
            self.swallow(error)
            return False
        finally:
            self.spent += clock() - started
            if self.spent > self.seconds:
                self.give_up("its time limit of %.0f s was reached" % self.seconds)


def clock():
    time = sys.modules.get("time")
    return time.perf_counter() if time is not None else 0.0


def is_from_handler(error):
    """Returns whether a signal handler of the program raised the exception while the hook ran. A handler can be
    recognised: one of its arguments is the frame that it interrupts."""
    step = error.__traceback__
    while step is not None:
        code, caller = step.tb_frame.f_code, step.tb_frame.f_back
        if caller is not None and code.co_filename != OWN_FILE and code.co_flags & 1:  # optimised: plain locals
            for value in list(step.tb_frame.f_locals.values()):
                if any(each is caller for each in (value if type(value) is tuple else (value,))):
                    return True
        step = step.tb_next
    return False


state = Budget()  # of every subject except origins, which may share a run with suspect lines
give_up, swallow, guarded = state.give_up, state.swallow, state.guarded


def tell(message):
    return recorder.deliver(to_json(message))


