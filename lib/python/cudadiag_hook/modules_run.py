"""The PyTorch module that each thread is in, and the optimiser step that the program has reached."""
import _thread
import _weakref
import sys

from .stacks import without_own_frames


class Inside(_thread._local):
    def __init__(self):
        self.modules = []  # weak references, innermost last
        self.known = None  # the latest result of here(), valid until the thread enters or leaves a module


class Steps:
    """Per-process state."""

    def __init__(self):
        self.ended = 0
        self.are_counted = False  # whether there is an optimiser

    def current(self):
        """Returns the current step, counted from 1; 0 if the program has no optimiser."""
        return self.ended + 1 if self.are_counted else 0


inside, steps = Inside(), Steps()
paths = {}  # by id() of a module: (weak references to it and to the outermost one, path)


def module_at(outermost, path):
    for name in path.split(".") if path else ():
        outermost = outermost._modules[name] if outermost is not None and name in outermost._modules else None
    return outermost


def path_in(outermost, module):
    """Returns the module's path in the outermost module, such as "encoder.layers.0"; empty for the outermost module
    itself."""
    kept = paths.get(id(module))
    if kept is not None and kept[0]() is module and kept[1]() is outermost and module_at(outermost, kept[2]) is module:
        return kept[2]
    found = next((name for name, each in outermost.named_modules() if each is module), "")
    paths[id(module)] = (_weakref.ref(module, lambda _, key=id(module): paths.pop(key, None)),
                         _weakref.ref(outermost), found)
    return found


def enter(module, _):
    inside.modules.append(_weakref.ref(module))
    inside.known = None


def leave(*_):
    if inside.modules:
        inside.modules.pop()
    inside.known = None


def here():
    """Returns (path in the outermost module, class); None if the thread is not in a module."""
    if inside.known is None and inside.modules:
        outermost, module = inside.modules[0](), inside.modules[-1]()
        if outermost is not None and module is not None:
            inside.known = (path_in(outermost, module), type(module).__name__)
    return inside.known


def count_step(*_):
    steps.ended += 1


def follow_optimisers(replace):
    optimisers = sys.modules["torch.optim.optimizer"]
    register = getattr(optimisers, "register_optimizer_step_post_hook", None)
    if register is None:  # before 2.0
        return
    register(count_step)

    def make(original):
        def __init__(self, *args, **kwargs):
            steps.are_counted = True
            with without_own_frames:
                original(self, *args, **kwargs)

        return __init__

    replace(optimisers.Optimizer, "__init__", make)


def follow_modules():
    hooks = sys.modules["torch.nn.modules.module"]
    try:
        hooks.register_module_forward_hook(leave, always_call=True)
        hooks.register_module_forward_pre_hook(enter)
    except TypeError:  # before 2.0, where `leave` would not be called if a module raises an exception
        pass
