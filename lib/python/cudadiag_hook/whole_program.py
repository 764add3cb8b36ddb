"""Observes the operators of a whole program: on all Python threads, from the import of PyTorch on."""
import _thread
import sys

from . import dispatch_mode
from .budget import guarded
from .operator_places import places_here
from .stacks import without_own_frames


def replace(owner, name, make):
    """Replaces an attribute of `owner`. `make` gets the original function and returns its replacement."""
    original = getattr(owner, name, None)
    if original is None:
        return
    made = make(original)
    # pickle stores a function by its module and qualified name, and requires that these names refer to the same
    # function.
    is_class = isinstance(owner, type)
    made.__module__ = owner.__module__ if is_class else owner.__name__
    made.__name__, made.__qualname__ = name, owner.__qualname__ + "." + name if is_class else name
    made.__doc__, made.__wrapped__ = original.__doc__, original
    setattr(owner, name, made)
    scripting = sys.modules.get("torch.jit._builtins")
    # torch.jit.script recognises PyTorch's operators by their id(), which this table contains. If PyTorch builds the
    # table later, the table contains `made` anyway.
    table = getattr(scripting, "_builtin_table", None) or {}
    if id(original) in table:
        table[id(made)] = table[id(original)]


def follow_threads(listener):
    """Listens on new Python threads, too. Autograd threads inherit the mode from the thread that runs a graph."""

    def make(original):
        def _bootstrap_inner(self):
            mode = dispatch_mode.push(listener)
            try:
                original(self)
            finally:
                if mode is not None:
                    dispatch_mode.pop(mode)

        return _bootstrap_inner

    replace(sys.modules["threading"].Thread, "_bootstrap_inner", make)


def leave_alone(torch):
    """Switches modes off around ctc_loss. While any mode is on, ctc_loss rejects lengths on the host, although it
    requires them there otherwise."""

    def make(original):
        def ctc_loss(*args, **kwargs):
            core = torch._C
            modes = [core._pop_torch_dispatch_stack(None) for _ in range(core._len_torch_dispatch_stack())]
            try:
                with without_own_frames:
                    return original(*args, **kwargs)
            finally:
                for mode in reversed(modes):
                    core._push_on_torch_dispatch_stack(mode)
                guarded(places_here.note_forward)  # otherwise, its nodes would be those of the next operator

        return ctc_loss

    replace(torch, "ctc_loss", make)


def listen(listener):
    """Starts to call the listener, on this thread and on new threads."""
    import threading  # noqa: F401, follow_threads finds it

    import torch.utils._python_dispatch
    follow_threads(listener)
    leave_alone(sys.modules["torch"])
    dispatch_mode.push(listener)


class TorchFinder:
    """Finds no modules itself, but wraps the loader of `torch`. It is the first finder until `torch` is imported. Many
    programs look for `torch` before they import it, or without importing it."""

    def __init__(self, begin):
        self.begin = begin

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None) if finder is not self else None
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = TorchLoader(spec.loader, self)
                return spec
        return None


class TorchLoader:
    loader = None

    def __init__(self, loader, finder):
        self.loader, self.finder = loader, finder

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
            self.finder.begin()


def when_torch_is_there(begin):
    """Calls `begin`, which must not raise, once torch is imported."""
    if "torch" in sys.modules:
        begin()
    else:
        sys.meta_path.insert(0, TorchFinder(begin))


class Turn:
    """Lets only one thread at a time change the shared state. No thread waits for long, because that could deadlock: a
    finalizer that runs inside a turn may wait for another thread's operator."""

    PATIENCE = 1.0  # seconds

    def __init__(self):
        self.lock = _thread.RLock()

    def run(self, function, *arguments):
        lock = self.lock
        if not (lock.acquire(False) or lock.acquire(True, self.PATIENCE)):
            self.lock = _thread.RLock()
            return function(*arguments)
        try:
            return function(*arguments)
        finally:
            lock.release()
