"""Checks the results of all operators, on all threads, for elements that are not finite, once PyTorch is
imported."""
import sys

from .. import recorder
from ..json_text import to_json
from ..stacks import places_from
from ..tensor_data.finite_checks import INFINITE, reach, slots
from ..tensor_data.tensors import is_tensor, unwrapped
from ..whole_run.modules_run import follow_modules, follow_optimisers
from ..whole_run.whole_program import listen, replace, when_torch_is_there
from .non_finite import NonFinite, fail, settle_all, turn
from .uses import finish, use_all, watch

listener = NonFinite()


def guarded(function, *arguments):
    """Runs a function of the hook. Its errors do not reach the target."""
    if not watch.on:
        return
    try:
        turn.run(function, *arguments)
    except Exception as error:
        fail(error)


def use_tensor(name, tensor):
    if is_tensor(tensor):
        use_all(name, watch.writers.values_in(unwrapped(tensor)), places_from(sys._getframe(1)))


def use_each(name, value, depth=4):
    """Uses each tensor, also inside containers such as a checkpoint."""
    if is_tensor(value):
        use_tensor(name, value)
    elif depth and isinstance(value, dict):
        for each in list(value.values()):
            use_each(name, each, depth - 1)
    elif depth and type(value) in (list, tuple):
        for each in value:
            use_each(name, each, depth - 1)


def before_first(use_name, depth=0):
    """Makes a wrapper that reads its first argument before the original function gets it."""

    def make(original):
        def replaced(*args, **kwargs):
            if args:
                guarded(use_each, use_name, args[0], depth)
            return original(*args, **kwargs)

        return replaced

    return make


def follow_uses(torch):
    replace(sys.modules["torch._tensor_str"], "_str", before_first("printed"))
    replace(torch, "save", before_first("saved", 4))
    for name in ("numpy", "tolist"):
        replace(torch.Tensor, name, before_first("array"))


def follow_backward():
    graph, autograd = sys.modules["torch.autograd.graph"], sys.modules["torch.autograd"]
    engine = graph._engine_run_backward

    def _engine_run_backward(outputs, *args, **kwargs):
        guarded(use_each, "loss", tuple(outputs), 1)
        return engine(outputs, *args, **kwargs)

    for module in (graph, autograd):
        if getattr(module, "_engine_run_backward", None) is engine:
            module._engine_run_backward = _engine_run_backward


def at_exit():
    last = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    guarded(settle_all)
    guarded(finish, last)
    watch.on = False


def after_fork():
    """Runs in the child: the parent's messages, and the data on a GPU, do not belong to the child."""
    watch.candidates.clear()
    watch.pending.clear()
    slots.__init__()
    turn.__init__()


def begin():
    torch = sys.modules["torch"]
    import atexit
    import os
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    follow_modules()
    follow_optimisers(replace)
    follow_uses(torch)
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
