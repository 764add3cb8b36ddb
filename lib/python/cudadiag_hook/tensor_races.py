"""Finds operators that use the same bytes on different streams, with no order between them. The order is known from the
events and waits that PyTorch reports. cudadiag does not see the work of other libraries."""
import _thread
import sys

from . import recorder
from .budget import guarded, state
from .recorder import to_json
from .stacks import OWN_FILE, frames_of_places, is_in_library, line_at, without_own_frames
from .suspect_lines.accesses import named_whole
from .suspect_lines.variables import KEEPS_AST, paths_at, source_of, variables_at, without_escapes
from .tensor_data.arguments import named_variable
from .tensor_data.lineage import StorageReference
from .tensor_data.schemas import facts_of
from .tensor_data.uses_of_memory import argument_uses, common, result_uses
from .tensor_data.tensors import Guard, a_mode_is_on, devices, each_tensor, is_capturing, is_tensor
from .operator_places import places_here
from .dispatch_mode import Listener
from .whole_program import Turn, listen, replace, when_torch_is_there
from .stream_order import HOST, Order

MOST_ACCESSES = 48  # per storage
MOST_RACES = 64  # pairs of lines that are reported
MOST_LINES = 4096  # lines whose variables are kept
MOST_STORAGES = 1 << 16


class Access:
    """One operator's access to bytes."""

    __slots__ = ("stream", "number", "written", "pieces", "facts", "parameter", "shape", "strides", "dtype", "device", "name",
                 "place")

    def __init__(self, facts, use, stream, number):
        self.facts, self.parameter, self.written, self.pieces = facts, use.parameter, use.written, use.pieces
        self.stream, self.number, self.place, self.name = stream, number, None, None

    def describe(self, tensor, where):
        self.shape, self.strides = tensor.shape, tensor.stride()
        self.dtype, self.device, self.place = tensor.dtype, tensor.device, where.place
        self.name = where.name_of(tensor, self.facts, self.parameter)

    def stack(self):
        """Returns where the operator was called; if that is unknown, in a backward pass, where its node was created."""
        stack, made = self.place[0], self.place[4]
        return stack or (made[0] if made is not None else ())


class Where:
    """Where an operator is called."""

    def __init__(self, stack):
        self.place = places_here.place(stack)
        self.frame = sys._getframe(1)
        while self.frame is not None and (self.frame.f_code.co_filename == OWN_FILE or is_in_library(self.frame.f_code)):
            self.frame = self.frame.f_back

    def name_of(self, tensor, facts, parameter):
        """Returns (name, whether the tensor is only a view of the variable with that name). None if the user's line has
        no name for the tensor. An operator with the same stack may have a different tensor each time, so each name is
        checked. Only variables that have named this parameter before are looked up, because a lookup takes longer than
        a small operator."""
        if self.frame is None:
            return None
        key = id(self.place[0]), facts, parameter
        known = naming.get(key)  # holds the stack, so that its id() is not reused
        name = None if known is None else self.find_name(tensor, known[1])[0]
        if name is None and (known is None or known[1]):
            name, path = self.find_name(tensor, paths_of(self.frame.f_code, self.frame.f_lineno))
            if len(naming) >= MOST_LINES:
                naming.clear()
            naming[key] = (self.place[0], (known[1] if known is not None else []) + [path] * (path is not None))
        return name

    def find_name(self, tensor, paths):
        """Returns ((name, whether the tensor is only a view of that variable), its path); (None, None) if no variable
        with these paths is the tensor or contains it."""
        variables, found = [], {}
        for path in paths:
            for name, value in sum(variables_at([path], self.frame), []):
                if is_tensor(value):
                    variables.append((name, value))
                    found.setdefault(name, path)
        known = named_variable(tensor, variables)
        if known is not None:
            return (known[0], False), found[known[0]]
        around = named_whole(tensor, variables) if variables else None
        return (None, None) if around is None else ((around, True), found[around])


class Storage:
    """The latest accesses to the storage's memory, and the streams passed to record_stream. The allocator reuses the
    memory only after those streams have finished their work."""

    def __init__(self, storage):
        self.key = storage._cdata
        self.reference = StorageReference(storage)
        self.accesses, self.kept_for = [], set()


class Own(_thread._local):
    calls = False  # whether the thread's current CUDA calls are the hook's own


class TensorRaces(Listener):
    def __init__(self):
        self.order = Order()
        self.turn = Turn()
        self.storages = {}  # by address
        self.told = set()
        self.own = Own()
        self.several = False  # whether there may be more than one stream

    # Tests replace the next three methods.
    def stream_of(self, tensor):
        if tensor.device.type not in devices:
            return HOST
        return sys.modules["torch"]._C._cuda_getCurrentRawStream(tensor.device.index)

    def is_pinned(self, tensor):
        return tensor.device.type == "cpu" and tensor.is_pinned()

    def is_reused(self, tensor):
        """Returns whether PyTorch's allocator may reuse the memory. The allocator reuses GPU memory on the stream for
        which it was allocated, and waits for other streams only after record_stream."""
        return tensor.device.type == "cuda"

    def before(self, function, args, kwargs):
        if not state.on or not (self.several or guarded(self.uses_another_stream, args)):
            return None
        facts = facts_of(function)
        if facts.name == "record_stream":  # the schema says that it writes, but this operator touches no memory
            guarded(self.keep_for, args)
            return None
        if facts.is_view or facts.uninitialised:
            return None
        issued = guarded(self.issue, facts, args, kwargs)
        return (facts, args, kwargs, issued) if type(issued) is tuple else None

    def uses_another_stream(self, args):
        """Returns whether the operator runs on a stream other than the default one. Operators before the first such
        operator are not followed."""
        if a_mode_is_on():
            with Guard():
                stream = self.stream_in(args)
        else:
            stream = self.stream_in(args)
        if stream not in (HOST, 0):  # otherwise, another thread may just have set it
            self.several = True
        return self.several

    def stream_in(self, args):
        return self.stream_among([tensor for value in args for _, tensor in each_tensor("", value)])

    def issue(self, facts, args, kwargs):
        """Uses the arguments. Returns (stream, the operator's number on it, where it is called); None if the operator
        is only captured into a graph."""
        stack = places_here.note_forward()
        with Guard():
            self.own.calls = True
            try:
                uses = argument_uses(facts, args, kwargs)
                stream = self.stream_among([use.tensor for use in uses])
                if is_capturing():
                    return None
            finally:
                self.own.calls = False
            number = self.order.issue(stream) if stream != HOST else 0
            where = Where(stack)
            self.use_all(facts, uses, stream, number, where)
        return stream, number, where

    def stream_among(self, tensors):
        return next((stream for stream in map(self.stream_of, tensors) if stream != HOST), HOST)

    def after(self, token, result, returned):
        if returned:
            guarded(self.use_results, token, result)

    def use_results(self, token, result):
        facts, args, kwargs, (stream, number, where) = token
        with Guard():
            uses = result_uses(facts, result)
            if stream == HOST:
                stream = self.stream_among([use.tensor for use in uses])
                number = self.order.issue(stream) if stream != HOST else 0
            self.use_all(facts, uses, stream, number, where)
        if stream != HOST and waits(facts, args, kwargs):
            self.order.host_waits_for_stream(stream)

    def use_all(self, facts, uses, stream, number, where):
        found = [pair for use in uses for pair in self.use(facts, use, stream, number, where)]
        while found:
            first, second, _ = found[0]
            self.tell(first, second, [shared for other, _, shared in found if same_operator(other, first)])
            found = [each for each in found if not same_operator(each[0], first)]

    def use(self, facts, use, stream, number, where):
        """Returns the unordered pairs: [(earlier access, this access, shared bytes)]. Host memory is considered only
        after a stream has used it."""
        if not use.pieces:
            return []
        on_host = self.stream_of(use.tensor) == HOST
        base = use.tensor.untyped_storage().data_ptr()
        storage = self.storages.get(base)
        if on_host and ((storage is None and stream == HOST) or (stream != HOST and not self.is_pinned(use.tensor))):
            return []
        access = Access(facts, use, stream, number)
        access.describe(use.tensor, where)
        return self.turn.run(self.compare, self.storage_at(base, use.tensor), access)

    def compare(self, storage, access):
        """Compares the access with the storage's earlier ones, then keeps it."""
        stream, found = access.stream, []
        for other in storage.accesses:
            if other.stream != stream and (other.written or access.written) and \
                    not self.order.comes_after(stream, other.stream, other.number):
                shared = common(other.pieces, access.pieces)
                found += [(other, access, shared)] if shared is not None else []
        if stream != HOST:
            keep(storage.accesses, access)
        return found

    def storage_at(self, base, tensor):
        now = tensor.untyped_storage()
        storage = self.storages.get(base)
        if storage is not None and storage.key == now._cdata and not storage.reference.has_ended():
            return storage
        if len(self.storages) >= MOST_STORAGES:
            self.storages.clear()
        fresh = Storage(now)
        if storage is not None and self.is_reused(tensor):
            fresh.accesses = [each for each in storage.accesses if each.stream not in storage.kept_for]
        self.storages[base] = fresh
        return fresh

    def keep_for(self, args):
        storage = self.storages.get(args[0].untyped_storage().data_ptr())
        if storage is not None:
            storage.kept_for.add(handle_of(args[1]))

    def tell(self, first, second, shared):
        """Reports a pair of accesses. `shared`: (begin, end, bytes) of each pair of tensors."""
        if len(self.told) >= MOST_RACES:
            return
        lines = frozenset((line_of_program(first.stack()), line_of_program(second.stack())))
        if lines in self.told:
            return
        self.told.add(lines)
        recorder.deliver(to_json({
            "kind": "race", "first": about(first), "second": about(second), "begin": min(each[0] for each in shared),
            "end": max(each[1] for each in shared), "bytes": sum(each[2] for each in set(shared)),
            "waited_before": (second.stream, first.stream) in self.order.waited}))


def handle_of(stream):
    """Returns CUDA's handle of the stream. An operator gets an object of the base class torch.Stream, which has no
    handle."""
    if not hasattr(stream, "cuda_stream"):
        stream = sys.modules["torch"].cuda.Stream(stream_id=stream.stream_id, device_index=stream.device_index,
                                                  device_type=stream.device_type)
    return stream.cuda_stream


def same_operator(a, b):
    return a.stream == b.stream and a.number == b.number


def line_of_program(stack):
    """Returns (file, line) of the innermost frame outside of libraries; the whole stack if there is none."""
    return next(((code.co_filename, line_at(code, instruction)) for code, instruction in stack
                 if not is_in_library(code)), stack)


def about(access):
    name, is_view = access.name or ("", False)
    ends = [each.end for each in access.pieces]
    begin = min(each.begin for each in access.pieces)
    return {"operator": access.facts.full_name(), "parameter": access.parameter, "name": name, "view": is_view,
            "written": access.written, "dtype": str(access.dtype).replace("torch.", ""), "device": str(access.device),
            "shape": list(access.shape)[:16], "strides": list(access.strides)[:16], "pointer": begin,
            "bytes": max(ends) - begin,
            "stream": 0 if access.stream == HOST else access.stream, "on_host": access.stream == HOST,
            "stack": frames_of_places(access.stack())}


def keep(accesses, access):
    """Adds the access, and drops an earlier access of the same stream to the same bytes: whatever is ordered after the
    new access is also ordered after the earlier one."""
    stream, written, pieces = access.stream, access.written, access.pieces
    for number, other in enumerate(accesses):
        if other.stream == stream and (written or not other.written) and same_pieces(other.pieces, pieces):
            del accesses[number]
            break
    accesses.append(access)
    if len(accesses) > MOST_ACCESSES:
        del accesses[0]


def same_pieces(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x.begin != y.begin or x.width != y.width or x.dimensions != y.dimensions:
            return False
    return True


def waits(facts, args, kwargs):
    """Returns whether the host has waited for the operator's stream by the time the operator returns."""
    if facts.reads_scalar:
        return True
    if facts.name == "copy_" and facts.own:
        blocks = not (args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
        return blocks and args[0].device.type == "cpu" and args[1].device.type != "cpu"
    if facts.name == "_to_copy" and facts.own:
        device = kwargs.get("device")
        return not kwargs.get("non_blocking", False) and device is not None and device.type == "cpu"
    return False


naming = {}  # by id() of a stack, operator and parameter: (stack, paths of the variables that have named the tensor)
lines = {}  # the paths (variables.py) that a line reads, by code and line


def paths_of(code, line):
    known = lines.get((id(code), line))
    if known is not None and known[0] is code:
        return known[1]
    try:
        tree = compile(without_escapes(source_of(code.co_filename)), code.co_filename, "exec", KEEPS_AST | 0x200, True)
        paths, _ = paths_at(tree, line)
    except (OSError, SyntaxError, ValueError):
        paths = []
    if len(lines) >= MOST_LINES:
        lines.clear()
    lines[id(code), line] = (code, paths)
    return paths


listener = TensorRaces()


def follow_order(trace, order):
    """`trace` is torch.cuda._gpu_trace."""

    def unless_own(function):
        def called(*arguments):
            if not listener.own.calls:
                guarded(function, *arguments)

        return called

    def several(_):
        listener.several = True

    for name, function in (("event_creation", order.forget), ("event_deletion", order.forget),
                           ("event_record", order.record), ("event_wait", order.wait), ("stream_creation", several),
                           ("device_synchronization", order.host_waits_for_all),
                           ("stream_synchronization", order.host_waits_for_stream),
                           ("event_synchronization", order.host_waits_for_event)):
        getattr(trace, "register_callback_for_" + name)(unless_own(function))


def waiting_for_all(original):
    def empty_cache(*args, **kwargs):
        with without_own_frames:
            value = original(*args, **kwargs)
        guarded(listener.order.host_waits_for_all)
        return value

    return empty_cache


def seen_by_query(reached_by):
    """Wraps a query, because PyTorch does not report queries. If the query returns True, the work up to the point that
    `reached_by` returned has finished. `reached_by` is called before the query, because another thread may issue more
    work in between."""

    def make(original):
        def query(self, *args, **kwargs):
            reached = guarded(reached_by, self)
            with without_own_frames:
                finished = original(self, *args, **kwargs)
            if finished and type(reached) is tuple:
                guarded(listener.order.passes, reached, HOST)
            return finished

        return query

    return make


def seen_by_time(original):
    """Wraps Event.elapsed_time. If it succeeds, both events have finished."""

    def elapsed_time(self, end_event):
        reached = [guarded(recorded, event) for event in (self, end_event)]
        with without_own_frames:
            time = original(self, end_event)
        for each in reached:
            if type(each) is tuple:
                guarded(listener.order.passes, each, HOST)
        return time

    return elapsed_time


def recorded(event):
    return listener.order.recorded(event.cuda_event)


def reached_by(stream):
    return listener.order.reached_by(stream.cuda_stream)


def follow_queries(cuda):
    """`cuda` is torch.cuda."""
    replace(cuda.Event, "query", seen_by_query(recorded))
    replace(cuda.Event, "elapsed_time", seen_by_time)
    replace(cuda.Stream, "query", seen_by_query(reached_by))


def begin():
    torch = sys.modules["torch"]
    if not hasattr(torch._C, "_activate_gpu_trace"):
        return recorder.note("nothing was checked: this version of PyTorch does not report its streams and events")
    import torch.cuda._gpu_trace
    trace = sys.modules["torch.cuda._gpu_trace"]
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    follow_order(trace, listener.order)
    torch._C._activate_gpu_trace()
    replace(torch.cuda, "empty_cache", waiting_for_all)
    follow_queries(torch.cuda)
    listen(listener)


def start(_):
    state.seconds = float("inf")
    when_torch_is_there(lambda: guarded(begin))
