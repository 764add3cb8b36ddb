"""Reports the memory that PyTorch's allocator holds when a request fails. The allocator's own snapshot lists that
memory, with the stacks that the allocator kept in this run. The snapshot is taken on the requesting thread, before the
exception is raised."""
import sys

from .. import recorder
from ..budget import guarded, tell
from ..stacks import MOST_FRAMES, OWN_FILE
from ..tensor_data.tensors import Guard, devices, is_tensor
from .variables import locals_of

MOST_HOLDERS = 32
MOST_EXCEPTIONS = 4
MOST_SNAPSHOTS = 16


class Memory:
    wanted = False
    snapshots = 0


memory = Memory()


def trace_memory():
    cuda = sys.modules.get("torch.cuda")
    if cuda is None:
        return recorder.note("PyTorch's allocator was not queried: PyTorch was imported after CUDA was initialised")
    # Runs begin_history() now, or once PyTorch has initialised CUDA.
    cuda._lazy_call(lambda: guarded(begin_history) and None)


def begin_history():
    torch = sys.modules["torch"]
    torch.cuda.memory._record_memory_history("state", "state", "python")
    torch._C._cuda_attach_out_of_memory_observer(out_of_memory)


def out_of_memory(device, asked, *_):
    """Called by PyTorch when an allocation fails."""
    guarded(tell_memory, device, asked)


def tell_memory(device, asked):
    memory.snapshots += 1
    if memory.snapshots > MOST_SNAPSHOTS:
        return
    with Guard():
        about = summary(sys.modules["torch"].cuda.memory._snapshot(device), device)
        about.update(kind="memory", asked=asked, exceptions=kept_by_exceptions())
    while not tell(about) and about["holders"]:
        about["holders"].pop()  # too long for a line


def summary(snapshot, device):
    reserved = allocated = largest_free = 0
    by_stack = {}
    for segment in snapshot["segments"]:
        if segment["device"] != device:
            continue
        reserved += segment["total_size"]
        for block in segment["blocks"]:
            if not block["state"].startswith("active"):
                largest_free = max(largest_free, block["size"])
                continue
            allocated += block["size"]
            stack = tuple((frame["filename"], frame["line"], frame["name"]) for frame in block.get("frames", ())
                          if frame["filename"] != OWN_FILE)[:MOST_FRAMES]
            holder = by_stack.setdefault(stack, [0, 0])
            holder[0] += block["size"]
            holder[1] += 1
    holders = sorted(by_stack.items(), key=lambda item: -item[1][0])[:MOST_HOLDERS]
    return {"reserved": reserved, "allocated": allocated, "largest_free": largest_free,
            "holders": [{"bytes": held, "count": count, "frames": [list(frame) for frame in stack]}
                        for stack, (held, count) in holders]}


def exceptions_at_hand():
    """Returns the exceptions that this thread is handling, their causes, and the last exception of an interactive
    session."""
    todo = [sys.exc_info()[1], getattr(sys, "last_exc", None), getattr(sys, "last_value", None)]
    found = []
    while todo:
        error = todo.pop(0)
        if isinstance(error, BaseException) and not any(error is each for each in found):
            found.append(error)
            todo += [error.__context__, error.__cause__]
    return found[:MOST_EXCEPTIONS]


def kept_by_exceptions():
    """Finds the tensors in ended frames that a traceback keeps alive."""
    running, frame = set(), sys._getframe()
    while frame is not None:
        running.add(frame)
        frame = frame.f_back
    kept = []
    for error in exceptions_at_hand():
        held, step, last = {}, error.__traceback__, None
        while step is not None:
            last = step
            if step.tb_frame not in running:
                for value in locals_of(step.tb_frame).values():
                    if is_tensor(value) and value.device.type in devices:
                        storage = value.untyped_storage()
                        held[storage.data_ptr()] = storage.nbytes()
            step = step.tb_next
        if sum(held.values()):
            kept.append({"type": type(error).__name__, "file": last.tb_frame.f_code.co_filename, "line": last.tb_lineno,
                         "bytes": sum(held.values())})
    return kept
