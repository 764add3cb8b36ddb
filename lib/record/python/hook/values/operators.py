# The operators of a suspect line, seen one by one before they are issued: a dispatch mode, below autograd, that is on
# for the length of the line and on its thread.
import _thread


class Place:
    """A visit to a suspect line: a frame that stands there."""

    def __init__(self, suspect, frame, variables, hidden):
        self.suspect, self.frame = suspect, frame
        self.variables, self.hidden = variables, hidden


class Visits(_thread._local):
    """Of one thread: the suspect lines that it stands at, innermost last, and the mode that is on for them."""

    def __init__(self):
        self.places = []
        self.mode = None
        self.call = None  # inputs.py
        self.racing = None  # accesses.py: of the operator that runs
        self.start = self.start_of = None  # starts.py: what was told last, and for which line


visits = Visits()


def make_mode_class(torch):
    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        supports_higher_order_operators = True

        @classmethod
        def _should_skip_dynamo(cls):
            # Else torch._dynamo is imported, and wraps the method.
            return False

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = {} if kwargs is None else kwargs
            operator = getattr(function, "_op", None)
            if operator is None:  # a higher-order operator
                return function(*args, **kwargs)
            if not guarded(before_operator, function, args, kwargs):
                return operator(*args, **kwargs)
            try:
                hooked(True)
                result = operator(*args, **kwargs)
                if visits.racing is not None:
                    guarded(after_access, function, result)
                return result
            finally:
                hooked(False)
                visits.racing = None
                if visits.call is not None:
                    guarded(write_if_failed)

    return Watch


def before_operator(function, args, kwargs):
    """True if it was told of: the operations that follow are the operator's."""
    if not visits.places and not here.places:
        return False
    place = (visits.places or here.places)[-1]  # a worker of autograd has none of its own
    if getattr(function, "is_view", False):
        return False
    if place.suspect.racing:
        return before_access(place, function, args, kwargs)
    schema = function._schema
    pairs = named_arguments(schema, args, kwargs)
    arguments = []
    visits.call = None
    # Operators that only make tensors, or work on the host, are delivered too: otherwise their operations would be
    # attributed to the operator before.
    if touches_device(pairs):
        with Guard():
            arguments = operator_arguments(schema.name, pairs, place.variables + place.hidden, not is_capturing())
            keep_call(function, args, kwargs)
    return tell({"kind": "operator", "line": place.suspect.line, "file": place.suspect.file, "operator": schema.name, "overload": schema.overload_name,
                 "arguments": arguments})


class Here:
    """The place at which some thread stands: for threads that work on its behalf."""

    places = []


here = Here()
mode_class = None


def takes_another_way(place):
    """Of ctc_loss: where any mode is on, it refuses lengths on the host, for which it asks otherwise."""
    if any(path[-1] in ("ctc_loss", ("attribute", "ctc_loss")) for path in place.suspect.paths):
        return True
    module = getattr(getattr(torch_module(), "nn", None), "CTCLoss", None)
    return any(type(value) is module for _, value in place.variables)


def push_mode():
    global mode_class
    torch = torch_module()
    if torch is None or visits.mode is not None:
        return
    if mode_class is None:
        mode_class = make_mode_class(torch)
    visits.mode = mode_class()
    torch._C._push_on_torch_dispatch_stack(visits.mode)


def pop_mode():
    """Takes ours off the stack of modes; what the target has put on top of it stays."""
    mode, visits.mode = visits.mode, None
    if mode is None:
        return
    core = sys.modules["torch"]._C
    stack = [core._get_dispatch_stack_at(i) for i in range(core._len_torch_dispatch_stack())]
    if not any(each is mode for each in stack):
        return
    above = []
    try:
        while True:
            top = core._pop_torch_dispatch_stack(None)
            if top is mode:
                break
            above.append(top)
    finally:
        for each in reversed(above):
            core._push_on_torch_dispatch_stack(each)
