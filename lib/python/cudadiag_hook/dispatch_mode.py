"""The stream of operators that a thread calls, below autograd: a dispatch mode that calls a listener for each operator.

A thread switches the mode on by pushing it. Threads that autograd starts inherit the mode from the thread that calls
backward(), but threads that the program starts do not. Operators on tensor subclasses are passed on to the subclass.
The operators that the subclass then calls for its inner tensors arrive here. Operators that torch.jit.trace records are
not passed to the listener.
"""
import sys

from .stacks import drop_own_frames
from .tensor_data.tensors import hidden, torch_module
from .plain_arguments import as_tensors, plain_arguments


class Listener:
    """Both functions run on the thread that calls the operator. They must not raise exceptions of the hook."""

    def before(self, function, args, kwargs):
        """Runs before the operator. Returns a token to pass to `after`, or None if `after` must not be called."""

    def after(self, token, result, returned):
        """`returned` is False if the operator has raised an exception."""


def make_mode_class(torch):
    tracing_state, function_modes = torch._C._get_tracing_state, torch._C._len_torch_function_stack
    plain = torch.Tensor.__torch_dispatch__  # the method of all tensors that do not override it

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        supports_higher_order_operators = True

        def __init__(self, listener):
            super().__init__()
            self.before, self.after = listener.before, listener.after
            self.hidden_before, self.hidden_after = hidden(listener.before), hidden(listener.after)

        @classmethod
        def _should_skip_dynamo(cls):
            # If this returned true, PyTorch would import torch._dynamo and wrap __torch_dispatch__.
            return False

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            token, result, returned = None, None, False
            # In a backward pass, a function mode of the target may be active. It must not see the listener's calls.
            is_plain = not function_modes()
            before, after = (self.before, self.after) if is_plain else (self.hidden_before, self.hidden_after)
            try:
                kwargs = {} if kwargs is None else kwargs
                if types and any(each.__torch_dispatch__ is not plain for each in types):
                    # These tensors have no values. They belong to PyTorch's own tracers, which expect no mode below
                    # theirs.
                    if any(each.__module__.startswith("torch._subclasses") for each in types):
                        return function(*args, **kwargs)
                    return NotImplemented
                operator = getattr(function, "_op", None)
                if operator is None:  # a higher-order operator
                    return function(*args, **kwargs)
                # torch.jit.trace would record what the listener does with the tensors.
                if tracing_state() is None:
                    token = before(function, *plain_arguments(args, kwargs))
                try:
                    result = operator(*args, **kwargs)
                    returned = True
                    return result
                except RuntimeError as error:
                    accepted = as_tensors(function, args, kwargs, error)
                    if accepted is None:
                        raise
                result = operator(*accepted[0], **accepted[1])
                returned = True
                return result
            except BaseException as error:
                drop_own_frames(error)
                raise
            finally:
                if token is not None:
                    after(token, result, returned)

    return Watch


mode_class = None


def push(listener):
    """Switches a mode on for this thread, and returns it; None if PyTorch is not ready."""
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
    """Removes the mode from this thread's stack of modes. Modes that the target has pushed on top of it stay."""
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
