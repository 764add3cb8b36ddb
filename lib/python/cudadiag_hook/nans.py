"""The stream of operators on all threads from the import of PyTorch on, checked for elements that are not finite."""
import sys

from . import recorder, stream
from .finite_checks import INFINITE, reach, slots
from .json_text import to_json
from .modules_run import follow_modules, follow_optimisers
from .non_finite import NonFinite, fail, settle_all
from .stacks import places_from
from .tensors import is_tensor
from .uses import finish, use_all, watch

listener = NonFinite()


def guarded(function, *arguments):
    """No error of ours reaches the target."""
    if not watch.on:
        return
    try:
        function(*arguments)
    except Exception as error:
        fail(error)


def use_tensor(name, tensor):
    if is_tensor(tensor):
        use_all(name, watch.writers.values_in(tensor), places_from(sys._getframe(1)))


def use_each(name, value, depth=4):
    """Tensors of containers too, as those of a checkpoint."""
    if is_tensor(value):
        use_tensor(name, value)
    elif depth and isinstance(value, dict):
        for each in list(value.values()):
            use_each(name, each, depth - 1)
    elif depth and type(value) in (list, tuple):
        for each in value:
            use_each(name, each, depth - 1)


def replace(owner, name, make):
    """`make` gets the original and gives what takes its place."""
    original = getattr(owner, name, None)
    if original is None:
        return
    made = make(original)
    made.__name__, made.__qualname__ = name, getattr(original, "__qualname__", name)
    made.__doc__, made.__wrapped__ = original.__doc__, original
    setattr(owner, name, made)


def before_first(use_name, depth=0):
    """A function that looks at its first argument before the original gets it."""

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


def follow_threads():
    """Of Python; those of autograd inherit the stream from the thread that runs a graph."""
    threading = sys.modules["threading"]

    def make(original):
        def _bootstrap_inner(self):
            mode = stream.push(listener)
            try:
                original(self)
            finally:
                if mode is not None:
                    stream.pop(mode)

        return _bootstrap_inner

    replace(threading.Thread, "_bootstrap_inner", make)


def leave_alone(torch):
    """ctc_loss refuses lengths on the host while any mode is on, for which it asks otherwise."""

    def make(original):
        def ctc_loss(*args, **kwargs):
            core = torch._C
            modes = [core._pop_torch_dispatch_stack(None) for _ in range(core._len_torch_dispatch_stack())]
            try:
                return original(*args, **kwargs)
            finally:
                for mode in reversed(modes):
                    core._push_on_torch_dispatch_stack(mode)

        return ctc_loss

    replace(torch, "ctc_loss", make)


def at_exit():
    last = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    guarded(settle_all)
    guarded(finish, last)
    watch.on = False


def after_fork():
    """In the child: what its parent has told, and what lies on a GPU, is not its own."""
    watch.candidates.clear()
    watch.pending.clear()
    slots.pages.clear()


def begin():
    torch = sys.modules["torch"]
    import atexit
    import os
    import threading  # noqa: F401, follow_threads finds it

    import torch.utils._python_dispatch
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    follow_modules()
    follow_optimisers(replace)
    follow_uses(torch)
    follow_backward()
    follow_threads()
    leave_alone(torch)
    atexit.register(at_exit)
    os.register_at_fork(after_in_child=after_fork)
    stream.push(listener)


def read_options(text):
    for option in text.split(","):
        if option == "also-inf":
            reach.worst = INFINITE
        elif option == "blocking":
            watch.waits = True
        elif option.startswith("history="):
            watch.history = int(option.partition("=")[2])


class TorchFinder:
    """Finds nothing itself: it stands first among the finders until `torch` has been imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(TorchFinder)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = TorchLoader(spec.loader)
                return spec
        return None


class TorchLoader:
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        guarded(begin)


def start(options):
    read_options(options)
    if "torch" in sys.modules:
        guarded(begin)
    else:
        sys.meta_path.insert(0, TorchFinder)
