"""Parses CUDADIAG_VALUES (lib/wire/rerun.h), and starts what it requests."""
from .. import recorder
from ..budget import state, swallow
from .accesses import stop_telling
from .failing_call import inputs
from .lines import Suspect, look_for_lines
from .allocator_snapshot import memory, trace_memory
from .autograd_nodes import look_for_nodes, nodes
from .thread_starts import look_for_starts, starts


def read(text):
    """Returns the suspects. Passes everything else to the module that needs it."""
    suspects = []
    for number, line in enumerate(text.split("\n")):
        fields = line.split("\t")
        if number == 0:
            state.seconds = float(fields[0])
            inputs.limit = int(fields[1]) if len(fields) > 1 else 0
        elif len(fields) == 5 and fields[2] == "nodes":
            nodes.names |= {fields[3]}
        elif len(fields) == 5 and fields[2] == "memory":
            memory.wanted = True
        elif len(fields) == 5 and fields[2] == "threads":
            starts.wanted = True
        elif len(fields) == 5:
            suspects.append(Suspect(fields))
    return suspects


def begin():
    suspects = read(recorder.lines)
    if any(each.racing for each in suspects):
        state.ends.append(stop_telling)
    look_for_lines(suspects)
    if nodes.names:
        look_for_nodes()
    if memory.wanted:
        trace_memory()
    if starts.wanted:
        look_for_starts()


def start():
    """Starts what CUDADIAG_VALUES requests. The time that this takes does not count against the budget."""
    if not recorder.lines:
        return
    try:
        begin()
    except Exception as error:
        swallow(error)
