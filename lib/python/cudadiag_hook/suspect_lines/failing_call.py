"""Saves the failing call, for a script that repeats it. The arguments of each call are copied to the host before the
call is issued, and written once it has failed. Each thread keeps only its latest call, and each process writes only
one."""
import posix
import sys

from .. import recorder
from ..recorder import to_json
from ..tensor_data.tensors import devices, is_capturing, is_tensor
from .visits import visits


class Inputs:
    limit = 0  # bytes of one call's tensors that may be kept; 0: keep nothing
    written = False


inputs = Inputs()
SAFETENSORS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
               "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "float8_e4m3fn": "F8_E4M3",
               "float8_e5m2": "F8_E5M2"}
ALIGNED = 512  # the alignment of PyTorch's allocator; a tensor's offset from such an address is preserved


class Call:
    """What the script needs to repeat a call, as JSON, and the call's tensors on the host."""

    def __init__(self, function):
        self.operator, self.overload = function._schema.name, function._schema.overload_name
        self.tensors, self.missing, self.bytes = [], [], 0
        self.kept = []  # (tensor, its description, host copy)

    def encode(self, value):
        torch = sys.modules["torch"]
        if value is None or type(value) in (bool, int, str):
            return {"value": value}
        if type(value) is float:
            return {"float": repr(value)}
        if is_tensor(value):
            return {"tensor": self.encode_tensor(value)}
        if type(value) in (list, tuple):
            return {"list": [self.encode(each) for each in value]}
        for kind in ("dtype", "layout", "memory_format"):
            if type(value) is getattr(torch, kind):
                return {"torch": str(value).replace("torch.", "")}
        if type(value) is torch.device:
            return {"device": str(value)}
        self.missing.append("an argument of type %s" % type(value).__name__)
        return {"value": None}

    def encode_tensor(self, tensor):
        for number, (other, _, _) in enumerate(self.kept):
            if other is tensor:
                return number
        about = {"dtype": str(tensor.dtype).replace("torch.", ""), "device": str(tensor.device),
                 "shape": list(tensor.shape), "strides": [], "offset": 0, "elements": 0}
        host = self.host_copy(tensor, about)
        if host is None:
            self.missing.append("a %s tensor of shape %s" % (about["dtype"], about["shape"]))
        self.share(tensor, about)
        self.kept.append((tensor, about, host))
        return len(self.kept) - 1

    def host_copy(self, tensor, about):
        torch = sys.modules["torch"]
        plain = tensor.layout is torch.strided and about["dtype"] in SAFETENSORS and not tensor.is_neg()
        if not plain or tensor.device.type not in devices + ["cpu"]:
            return None
        about["strides"] = list(tensor.stride())
        about["elements"] = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0
        size = about["elements"] * tensor.element_size()
        if self.bytes + size > inputs.limit:
            return None
        self.bytes += size
        before = tensor.data_ptr() % ALIGNED
        about["offset"] = before // tensor.element_size() if before % tensor.element_size() == 0 else 0
        flat = torch.as_strided(tensor.detach(), (about["elements"],), (1,), tensor.storage_offset())
        return flat.clone() if flat.device.type == "cpu" else flat.cpu()

    def share(self, tensor, about):
        """Adds a note for each pair of tensors that share memory, since the script restores them separately."""
        first, last = tensor.data_ptr(), tensor.data_ptr() + about["elements"] * tensor.element_size()
        for number, (other, theirs, _) in enumerate(self.kept):
            begin = other.data_ptr()
            if tensor.device == other.device and begin < last and \
                    first < begin + theirs["elements"] * other.element_size():
                text = "tensors %d and %d share memory, but not in the replay" % (number, len(self.kept))
                self.missing.append(text)


def keep_call(function, args, kwargs):
    """Copies the call's arguments to the host. The caller must hold a Guard."""
    visits.call = None
    if not inputs.limit or inputs.written or is_capturing():
        return
    call = Call(function)
    call.args = [call.encode(each) for each in args]
    call.kwargs = [[name, call.encode(value)] for name, value in kwargs.items()]
    call.kept = [(None, about, host) for _, about, host in call.kept]  # do not keep the program's tensors alive
    visits.call = call


def write_if_failed():
    """Runs after the call. If the call has failed, the hook must not touch the device again."""
    call, visits.call = getattr(visits, "call", None), None
    if call is None or inputs.written or not recorder.failed():
        return
    inputs.written = True
    posix.mkdir(recorder.inputs_folder, 0o700)
    write_tensors(call)
    torch = sys.modules["torch"]
    about = {"operator": call.operator, "overload": call.overload, "args": call.args, "kwargs": call.kwargs,
             "tensors": [each for _, each, _ in call.kept], "missing": call.missing, "bytes": call.bytes,
             "python": sys.executable, "torch": str(torch.__version__)}
    with opened("call.json") as file:
        file.write(to_json(about).encode())


def opened(name):
    return open(posix.open(recorder.inputs_folder + "/" + name, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600), "wb")


def write_tensors(call):
    header, at = {}, 0
    for number, (_, about, host) in enumerate(call.kept):
        if host is not None:
            size = host.numel() * host.element_size()
            header["t%d" % number] = {"dtype": SAFETENSORS[about["dtype"]], "shape": [host.numel()],
                                      "data_offsets": [at, at + size]}
            at += size
    text = to_json(header).encode()
    text += b" " * (-len(text) % 8)
    with opened("inputs.safetensors") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.flush()
        for _, _, host in call.kept:
            if host is not None and host.numel():
                host.untyped_storage()._write_file(file, True, False, 1)
