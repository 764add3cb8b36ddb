"""Detects when a thread reaches a suspect line, and when it leaves the line."""
import sys

from .. import recorder
from ..budget import give_up, guarded, is_from_handler, state, swallow, tell
from ..recorder import to_json
from ..stacks import name_of_code
from ..tensor_data.arguments import FEW_ELEMENTS, variable_arguments
from ..tensor_data.tensors import Guard, is_capturing, is_tensor, torch_module
from .accesses import arrive_racing
from .operators import pop_mode, push_mode, takes_another_way
from .thread_starts import starts, tell_start
from .variables import KEEPS_AST, paths_at, source_of, variables_at, without_escapes
from .visits import Place, here, visits


class Suspect:
    """One suspect line, as a line of CUDADIAG_VALUES describes it (lib/wire/rerun.h)."""

    def __init__(self, fields):
        self.line, self.first = int(fields[0]), int(fields[1])
        self.operators = fields[2] in ("operators", "accesses")
        self.racing = fields[2] in ("accesses", "arrays")
        self.function, self.file = fields[3], fields[4]
        self.watched = fields[2] == "watch"
        self.paths = None  # not searched yet
        self.visits = 0  # how many times the line was reached, if it is watched

    def is_in(self, code):
        if self.watched:
            return ends_in(code.co_filename, self.file) and any(line == self.line for line in lines_of(code))
        name = name_of_code(code)
        return code.co_firstlineno == self.first and code.co_filename == self.file and \
            self.function.rpartition(".")[2] == name.rpartition(".")[2]

    def find_paths(self):
        try:
            tree = compile(without_escapes(source_of(self.file)), self.file, "exec", KEEPS_AST | 0x200, True)
            self.paths, is_with = paths_at(tree, self.line)
        except Exception as error:
            if is_from_handler(error):
                raise
            self.paths, is_with = [], False
        # A `with` statement may pop a mode from PyTorch's stack when it ends. The popped mode must not be the hook's.
        self.operators = self.operators and not is_with


def ends_in(file, end):
    return file.endswith(end) and (len(file) == len(end) or end[0] == "/" or file[-len(end) - 1] == "/")


def lines_of(code):
    if hasattr(code, "co_lines"):  # 3.10
        return [line for _, _, line in code.co_lines()]
    line, lines = code.co_firstlineno, []
    for step in code.co_lnotab[1::2]:
        line += step - 256 if step > 127 else step
        lines.append(line)
    return [code.co_firstlineno] + lines


class Watched:
    """The suspect lines."""

    def __init__(self):
        self.suspects = []
        self.first_lines = frozenset()  # first lines of the suspects' code objects
        self.lines = frozenset()
        self.watched_files = ()  # the ends of the paths of watched lines

    def add(self, suspects):
        self.suspects += suspects
        self.first_lines = frozenset(each.first for each in self.suspects if not each.watched)
        self.lines = frozenset(each.line for each in self.suspects)
        self.watched_files = tuple(each.file for each in self.suspects if each.watched)


watched = Watched()


def suspects_of(code):
    # Nearly every call returns here. Code objects are not used as keys, because hashing one hashes all its contents.
    if code.co_firstlineno not in watched.first_lines and not code.co_filename.endswith(watched.watched_files):
        return ()
    return [each for each in watched.suspects if each.is_in(code)]


def arrive(suspect, frame):
    if starts.wanted:
        tell_start(suspect, frame)
    if suspect.paths is None:
        suspect.find_paths()
    variables, hidden = variables_at(suspect.paths, frame)
    visits.places.append(Place(suspect, frame, variables, hidden))
    if suspect.racing:
        arrive_racing(visits.places[-1])
    else:
        tell_variables(suspect, variables)
    if suspect.operators and not takes_another_way(visits.places[-1]):
        push_mode()
        here.places = visits.places


def tell_variables(suspect, variables):
    if torch_module() is not None:
        with Guard():
            about = variable_arguments(variables, not is_capturing())
    else:
        about = variable_arguments(variables, False)
    if about:
        tell({"kind": "line", "line": suspect.line, "file": suspect.file, "arguments": about})


def arrive_watched(suspect, frame):
    if suspect.paths is None:
        suspect.file = frame.f_code.co_filename  # until now, only the end of the path was known
        suspect.find_paths()
    for each in suspects_of(frame.f_code):
        if each.watched and each.line == suspect.line:
            each.visits += 1
    variables, _ = variables_at(suspect.paths, frame)
    small = [(name, value) for name, value in variables if is_index_like(value)]
    if torch_module() is not None:
        with Guard():
            about = variable_arguments(small, not is_capturing() and not recorder.failed())
    else:
        about = variable_arguments(small, False)
    # The first visit is reported even without values. Otherwise, the line would seem not to have been reached.
    if about or suspect.visits == 1:
        recorder.deliver_watched(to_json({"kind": "watched", "line": suspect.line, "file": frame.f_code.co_filename,
                                 "visit": suspect.visits, "milliseconds": int(state.spent * 1000), "arguments": about,
                                 "visits": [each.visits for each in watched.suspects if each.watched]}))


def is_index_like(value):
    """Returns whether the value may be an index: an integer, or a small tensor of integers."""
    if type(value) in (int, bool):
        return True
    return is_tensor(value) and value.numel() <= FEW_ELEMENTS and not value.dtype.is_floating_point and \
        not value.dtype.is_complex


def leave(frame):
    """Called when the frame has left the suspect line."""
    here.places = visits.places = [place for place in visits.places if place.frame is not frame]
    if not visits.places:
        pop_mode()


def forget_ended():
    """Forgets places whose frames have ended without a call of at_end()."""
    running, frame = set(), sys._getframe(1)
    while frame is not None:
        running.add(frame)
        frame = frame.f_back
    for place in list(visits.places):
        if place.frame not in running:
            leave(place.frame)


def at_line(code, line, frame):
    try:
        if visits.places:
            forget_ended()
            leave(frame)
    except Exception as error:
        swallow(error)
    if not state.on or (watched.watched_files and line not in watched.lines):
        return
    for suspect in suspects_of(code):
        if suspect.line == line and (suspect.watched or suspect.racing or recorder.near()):
            guarded(arrive_watched if suspect.watched else arrive, suspect, frame)
            return


def at_end(frame):
    try:
        leave(frame)
    except Exception as error:
        swallow(error)


# ---- sys.monitoring: CPython 3.12 and later


def on_start(code, _):
    watch(code)
    return sys.monitoring.DISABLE


def on_line(code, line):
    at_line(code, line, sys._getframe(1))


def on_end(code, *_):
    if visits.places and suspects_of(code):
        at_end(sys._getframe(1))


def watch(code):
    if not suspects_of(code):
        return
    events = sys.monitoring.events
    sys.monitoring.set_local_events(state.tool, code, events.LINE | events.PY_RETURN | events.PY_YIELD)


def monitor():
    monitoring = sys.monitoring
    for tool in (4, 3):
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "cudadiag")
            state.tool = tool
            break
    else:
        return give_up("other tools already use sys.monitoring")
    events = monitoring.events
    for event, function in ((events.PY_START, on_start), (events.PY_RESUME, on_start), (events.LINE, on_line),
                            (events.PY_RETURN, on_end), (events.PY_YIELD, on_end), (events.PY_UNWIND, on_end)):
        monitoring.register_callback(state.tool, event, function)
    for top in list(sys._current_frames().values()):
        frame = top
        while frame is not None:
            watch(frame.f_code)
            frame = frame.f_back
    # PY_START and PY_RESUME fire only once per code object, because the hook then disables them there.
    monitoring.set_events(state.tool, events.PY_START | events.PY_RESUME | events.PY_UNWIND)
    monitoring.restart_events()  # an earlier user of the same tool id may have disabled events


# ---- sys.settrace: before 3.12


def on_trace(frame, event, _):
    if event == "line":
        at_line(frame.f_code, frame.f_lineno, frame)
    elif event == "return" and visits.places:
        at_end(frame)
    return on_trace


def on_call(frame, *_):
    return on_trace if suspects_of(frame.f_code) else None


def trace():
    if sys.gettrace() is not None:
        return give_up("another tool traces this program")
    frame = sys._getframe(1)
    while frame is not None:
        if suspects_of(frame.f_code) and frame.f_trace is None:
            frame.f_trace = on_trace
        frame = frame.f_back
    threading = sys.modules.get("threading")
    if threading is not None and getattr(threading, "_trace_hook", None) is None:
        threading.settrace(on_call)
    sys.settrace(on_call)


def look_for_lines(suspects):
    watched.add(suspects)
    if watched.suspects:
        monitor() if hasattr(sys, "monitoring") else trace()
