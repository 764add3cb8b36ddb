"""Reads tensors without running the target's modes, hooks or subclasses."""
import sys

from .. import recorder

MOST_ELEMENTS = 4 << 20
MOST_BYTES = 64 << 20
MOST_TEXT = 200
devices = ["cuda"]  # tensors on these devices are read


def torch_module():
    """Returns the module torch; None until all the parts that we need have been imported."""
    torch = sys.modules.get("torch")
    ready = sys.modules.get("torch.utils._python_dispatch") and sys.modules.get("torch.cuda")
    return torch if ready and hasattr(torch, "nn") else None


def is_tensor(value):
    """Returns whether the value is a tensor whose methods are PyTorch's own. Touching a subclass might run arbitrary
    code."""
    return type(value) in tensor_kinds()


def unwrapped(tensor):
    """Returns the innermost tensor if transforms of torch.func have wrapped it; otherwise the tensor itself."""
    functorch = getattr(sys.modules["torch"]._C, "_functorch", None)
    while functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def each_tensor(name, value):
    """Yields (label, tensor) for a tensor, or for each tensor in a list."""
    if is_tensor(value):
        yield name, value
    elif type(value) in (list, tuple):
        for number, each in enumerate(value):
            if is_tensor(each):
                yield "%s[%d]" % (name, number), each


kinds = ()


def tensor_kinds():
    """Returns the types of plain tensors and parameters; empty until PyTorch has been imported."""
    global kinds
    if not kinds:
        torch = sys.modules.get("torch")
        parameter = getattr(getattr(torch, "nn", None), "Parameter", None)
        found = tuple(each for each in (getattr(torch, "Tensor", None), parameter) if each is not None)
        if parameter is None:
            return found
        kinds = found
    return kinds


def as_integer(value):
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def describe(tensor):
    """Returns the properties of a tensor that can be read without the device."""
    about = {"dtype": str(tensor.dtype).replace("torch.", ""), "device": str(tensor.device),
             "shape": list(tensor.shape)[:16]}
    if tensor.layout is sys.modules["torch"].strided:
        about["strides"] = list(tensor.stride())[:16]
        about["pointer"] = tensor.data_ptr()
    return about


def on_host(tensor):
    """Returns the values as a tensor on the host; None if there are too many, or if the tensor cannot be read. The
    range of memory is copied unchanged, so that no kernel runs and no device memory is allocated."""
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.dtype.is_complex or tensor.is_quantized or tensor.is_neg():
        return None
    if tensor.device.type not in devices or not 0 < tensor.numel() <= MOST_ELEMENTS:
        return None
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    if span * tensor.element_size() > MOST_BYTES:
        return None
    flat = torch.as_strided(tensor.detach(), (span,), (1,), tensor.storage_offset())
    flat = flat.clone() if flat.device.type == "cpu" else flat.cpu()
    host = torch.as_strided(flat, shape, strides, 0)
    if host.dtype.is_floating_point:
        return host.float() if host.element_size() < 4 else host
    return host.to(torch.int64)


def summarise(host):
    """Returns the minimum and maximum; for floats, also how many elements are NaN and infinite."""
    if not host.dtype.is_floating_point:
        return {"min": int(host.min()), "max": int(host.max())}
    about = {"nan": int((host != host).sum()), "inf": int(host.isinf().sum())}
    finite = host[host.isfinite()]
    if finite.numel():
        about["min"], about["max"] = float(finite.min()), float(finite.max())
    return about


def first_of(wrong, host):
    """Returns how many elements are set in the mask `wrong`, and the index and value of the first one."""
    count = int(wrong.sum())
    if count == 0:
        return {"outside": 0}
    flat = int(wrong.reshape(-1).to(sys.modules["torch"].uint8).argmax())
    index, rest = [], flat
    for size in reversed(wrong.shape):
        index.insert(0, rest % size)
        rest //= size
    value = host.reshape(-1)[flat].item()
    return {"outside": count, "first_outside": index, "first_value": value}


class Guard:
    """Surrounds code of the hook that touches tensors, and hides it from the target's modes and hooks, and from the
    recorder."""

    def __enter__(self):
        core = sys.modules["torch"]._C
        self.guards = []
        try:
            recorder.quiet(True)
            for name in ("DisableTorchFunction", "_DisableTorchDispatch"):
                guard = getattr(core, name)()
                # In older PyTorch releases, guards take effect when they are constructed, and have no __enter__.
                enter = getattr(guard, "__enter__", None)
                if enter is not None:
                    enter()
                self.guards.append(guard)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        try:
            while self.guards:
                guard = self.guards.pop()
                leave = getattr(guard, "__exit__", None)
                if leave is not None:
                    leave(None, None, None)
                del guard
        finally:
            # If a signal handler raised an exception in the loop, some guards are still active.
            if self.guards:
                self.__exit__()
            recorder.quiet(False)


def hidden(function):
    """Returns the function, wrapped in a Guard."""

    def run(*arguments):
        with Guard():
            return function(*arguments)

    return run


def a_mode_is_on():
    """Returns whether a mode is on that would see the hook's own calls. The hook's own mode is off inside an
    operator."""
    core = sys.modules["torch"]._C
    return core._len_torch_dispatch_stack() > 0 or core._len_torch_function_stack() > 0


kinds_of_devices = {}  # device.type, by device: each access to that property creates a new string


def is_on_device(tensor):
    """Returns whether the tensor is on one of `devices`."""
    device = tensor.device
    kind = kinds_of_devices.get(device)
    if kind is None:
        kind = kinds_of_devices[device] = device.type
    return kind in devices


def is_capturing():
    """Returns whether this thread's stream is under capture, during which copies are not allowed."""
    cuda = sys.modules["torch"].cuda
    return "cuda" in devices and cuda.is_initialized() and cuda.is_current_stream_capturing()
