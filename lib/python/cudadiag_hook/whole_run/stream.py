"""The operators that a thread calls, one by one, below autograd: a dispatch mode that calls a listener.

The mode is on while a thread has pushed it. Threads that autograd starts inherit it from the thread that calls
backward(); the program's threads do not. Operators of tensor subclasses are passed on to the subclass. The operators
that the subclass calls for its inner tensors then arrive here.
"""
import sys

from ..tensor_data.tensors import torch_module


class Listener:
    """Both functions run on the thread that calls the operator. Neither may raise an exception of the hook."""

    def before(self, function, args, kwargs):
        """Runs before the operator. Returns the token for `after`, or None if `after` is not to be called."""

    def after(self, token, result, returned):
        """`returned` is False if the operator has raised an exception."""


def make_mode_class(torch):
    plain = torch.Tensor.__torch_dispatch__  # of tensors without a dispatch of their own

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        supports_higher_order_operators = True

        def __init__(self, listener):
            super().__init__()
            self.before, self.after = listener.before, listener.after

        @classmethod
        def _should_skip_dynamo(cls):
            # Otherwise torch._dynamo is imported, and wraps the method.
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
    """Returns the mode, which is on for this thread from here on; None if PyTorch is not ready."""
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
    """Removes it from this thread's stack of modes. Modes that the target has pushed on top of it stay."""
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
