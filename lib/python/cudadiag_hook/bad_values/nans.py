"""Starts and ends the search for NaN (non_finite.py): begins it once PyTorch is imported, follows forks and backward
passes, and reports when the program exits."""
import sys

from .. import recorder
from ..recorder import to_json
from ..stacks import without_own_frames
from ..tensor_data.finite_checks import INFINITE, reach, slots
from ..modules_run import follow_modules, follow_optimisers
from ..whole_program import listen, replace, when_torch_is_there
from .value_uses import finish, watch
from .non_finite import NonFinite, settle_all, turn
from .use_hooks import follow_exit, follow_uses, guarded, use_each

listener = NonFinite()


def follow_backward():
    graph, autograd = sys.modules["torch.autograd.graph"], sys.modules["torch.autograd"]
    engine = graph._engine_run_backward

    def _engine_run_backward(outputs, *args, **kwargs):
        guarded(use_each, "loss", tuple(outputs), 1)
        with without_own_frames:
            return engine(outputs, *args, **kwargs)

    for module in (graph, autograd):
        if getattr(module, "_engine_run_backward", None) is engine:
            module._engine_run_backward = _engine_run_backward


def last_exception():
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def at_exit():
    guarded(settle_all)
    guarded(finish, last_exception())
    watch.on = False


def cuda_error(error):
    """Returns the message of the first CUDA error among the exception and those that led to it; "" if there is none."""
    for _ in range(16):
        if error is None:
            break
        text = str(error).partition("\n")[0]
        if text.startswith("CUDA error") or type(error).__name__ in ("AcceleratorError", "CUDARuntimeError", "CUDADriverError"):
            return text
        error = error.__cause__ or error.__context__
    return ""


def note_cuda_error():
    try:
        text = cuda_error(last_exception())
    except Exception:  # the program's own, from the exception's __str__
        return
    if text:
        recorder.note("the program ended with a CUDA error, and only cudadiag run looks for its cause: %s" % text)


def after_fork():
    """Runs in the child, which must not report the parent's values or touch the parent's data on a GPU."""
    for candidates in watch.candidates.values():
        candidates.clear()
    watch.arrays.clear()
    watch.pending.clear()
    slots.__init__()
    turn.__init__()


def begin():
    torch = sys.modules["torch"]
    import atexit
    import os
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    atexit.register(note_cuda_error)
    follow_modules()
    follow_optimisers(replace)
    follow_uses(torch)
    follow_exit()
    follow_backward()
    atexit.register(at_exit)
    os.register_at_fork(after_in_child=after_fork)
    listen(listener)


def read_options(text):
    for option in text.split(","):
        if option == "also-inf":
            reach.worst = INFINITE
        elif option == "blocking":
            watch.waits = True
        elif option.startswith("history="):
            watch.history = int(option.partition("=")[2])


def start(options):
    read_options(options)
    when_torch_is_there(lambda: guarded(begin))
