"""The operators that a thread calls, one by one and below autograd: a dispatch mode that asks a listener.

The mode is on for as long as a thread has pushed it. Threads that autograd starts inherit it from the thread that calls
backward(); threads of the program do not. Operators of tensor subclasses are passed on to the subclass, and those that
it calls for its inner tensors come here.
"""
import sys

from ..tensor_data.tensors import torch_module


class Listener:
    """Both run on the thread that calls the operator. Neither may raise what is not the target's."""

    def before(self, function, args, kwargs):
        """What `after` gets, before the operator runs; None: `after` is not called."""

    def after(self, token, result, returned):
        """`returned`: False if the operator has raised an exception."""


def make_mode_class(torch):
    plain = torch.Tensor.__torch_dispatch__  # that of tensors without a dispatch of their own

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        supports_higher_order_operators = True

        def __init__(self, listener):
            super().__init__()
            self.before, self.after = listener.before, listener.after

        @classmethod
        def _should_skip_dynamo(cls):
            # Else torch._dynamo is imported, and wraps the method.
            return False

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if types and any(each.__torch_dispatch__ is not plain for each in types):
                # Tensors without values belong to PyTorch's own tracers, which expect no mode below theirs.
                if any(each.__module__.startswith("torch._subclasses") for each in types):
                    return function(*args, **({} if kwargs is None else kwargs))
                return NotImplemented
            kwargs = {} if kwargs is None else kwargs
            operator = getattr(function, "_op", None)
            if operator is None:  # a higher-order operator
                return function(*args, **kwargs)
            token = self.before(function, args, kwargs)
            if token is None:
                return operator(*args, **kwargs)
            result, returned = None, False
            try:
                result = operator(*args, **kwargs)
                returned = True
                return result
            finally:
                self.after(token, result, returned)

    return Watch


mode_class = None


def push(listener):
    """The mode, which is on for this thread from here on; None: PyTorch is not ready."""
    global mode_class
    torch = torch_module()
    if torch is None:
        return None
    if mode_class is None:
        mode_class = make_mode_class(torch)
    mode = mode_class(listener)
    torch._C._push_on_torch_dispatch_stack(mode)
    return mode


def pop(mode):
    """Takes it off this thread's stack of modes; what the target has put on top of it stays."""
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
