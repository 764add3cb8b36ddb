"""Reports the operators of a suspect line before they are issued. The dispatch mode (`dispatch_mode`) is on while the
line runs."""
from .. import dispatch_mode, recorder
from ..budget import guarded, tell
from ..tensor_data.arguments import named_arguments, operator_arguments, touches_device
from ..tensor_data.tensors import Guard, is_capturing, torch_module
from .accesses import after_access, before_access
from .failing_call import keep_call, write_if_failed
from .visits import here, visits


class SuspectLines(dispatch_mode.Listener):
    def before(self, function, args, kwargs):
        if not guarded(before_operator, function, args, kwargs):
            return None
        visits.told = visits.telling = True
        recorder.hooked(True)
        return function

    def after(self, function, result, returned):
        try:
            if visits.racing is not None and returned:
                guarded(after_access, function, result)
        finally:
            recorder.hooked(False)
            visits.telling = False
            visits.racing = None
            if visits.call is not None:
                guarded(write_if_failed)


listener = SuspectLines()


def before_operator(function, args, kwargs):
    """Returns True if the operator was reported, so that the operations that follow belong to it."""
    if not visits.places and not here.places:
        return False
    place = (visits.places or here.places)[-1]  # an autograd worker has no place of its own
    if getattr(function, "is_view", False):
        return False
    if place.suspect.racing:
        return before_access(place, function, args, kwargs)
    schema = function._schema
    pairs = named_arguments(schema, args, kwargs)
    arguments = []
    visits.call = None
    # Operators that only create tensors, or work on the host, are reported too. Otherwise, their operations would be
    # attributed to the previous operator.
    if touches_device(pairs):
        with Guard():
            arguments = operator_arguments(schema.name, pairs, place.variables + place.hidden, not is_capturing())
            keep_call(function, args, kwargs)
    return tell({"kind": "operator", "line": place.suspect.line, "file": place.suspect.file,
                 "operator": schema.name, "overload": schema.overload_name, "arguments": arguments})


def takes_another_way(place):
    """Returns whether the line uses ctc_loss. While any mode is on, ctc_loss rejects lengths on the host, although it
    requires them there otherwise."""
    if any(path[-1] in ("ctc_loss", ("attribute", "ctc_loss")) for path in place.suspect.paths):
        return True
    module = getattr(getattr(torch_module(), "nn", None), "CTCLoss", None)
    return any(type(value) is module for _, value in place.variables)


def push_mode():
    if visits.mode is None:
        visits.mode = dispatch_mode.push(listener)


def pop_mode():
    mode, visits.mode = visits.mode, None
    if mode is not None:
        dispatch_mode.pop(mode)
