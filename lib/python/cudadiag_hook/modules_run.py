"""Which module of PyTorch each thread is in, and how many steps the program has made."""
import _thread
import _weakref
import sys


class Inside(_thread._local):
    def __init__(self):
        self.modules = []  # names, innermost last


class Steps:
    """Of the process. A step of an optimiser counts; without one, a backward pass."""

    def __init__(self):
        self.optimiser = self.backward = 0

    def current(self):
        return 1 + (self.optimiser or self.backward)


inside, steps = Inside(), Steps()
names = {}  # by id() of a module: (weak reference, parent's name of it)


def name_in(parent, module):
    """That the parent has for it."""
    kept = names.get(id(module))
    if kept is not None and kept[0]() is module:
        return kept[1]
    found = type(module).__name__
    for name, child in list(parent._modules.items()):
        if child is module:
            found = name
            break
    names[id(module)] = (_weakref.ref(module, lambda _, key=id(module): names.pop(key, None)), found)
    return found


def enter(module, _):
    stack = inside.modules
    parent = stack[-1][0]() if stack else None
    stack.append((_weakref.ref(module), name_in(parent, module) if parent is not None else type(module).__name__))


def leave(module, *_):
    if inside.modules:
        inside.modules.pop()


def path():
    """"Net.encoder.layers.0"; "": none."""
    return ".".join(name for _, name in inside.modules)


def count_step(*_):
    steps.optimiser += 1


def follow():
    torch = sys.modules["torch"]
    hooks = torch.nn.modules.module
    try:
        hooks.register_module_forward_hook(leave, always_call=True)
        hooks.register_module_forward_pre_hook(enter)
    except TypeError:  # before 2.0, where a module that raises would never be left
        pass
    register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
    if register is not None:
        register(count_step)
