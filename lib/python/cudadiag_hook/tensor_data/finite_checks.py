"""Grades tensors: finite, infinite or NaN elements. Immediate on the host; through slots on a GPU, without waiting."""
import sys

from .tensors import devices, is_capturing

CLEAN, INFINITE, NOT_A_NUMBER = 0, 1, 2
PAGE = 64  # checks per page; what waits for its grade makes the garbage collector run more often
INFINITY = float("inf")
FLOATS = ("float16", "bfloat16", "float32", "float64")
known_floats = {}  # by dtype: whether its name is one of FLOATS


class Reach:
    """Which elements count as bad: NaN, or infinite elements too."""

    worst = NOT_A_NUMBER


reach = Reach()


def grade_of(greatest, least):
    if greatest != greatest or least != least:
        return NOT_A_NUMBER
    return INFINITE if greatest == float("inf") or least == float("-inf") else CLEAN


def as_floats(tensor):
    """The tensor, or the real numbers of a complex one; None if it has no elements to check."""
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.numel() == 0 or \
            tensor._is_zerotensor() or tensor.is_nested:  # zeros without memory; tensors without a shape
        return None
    dtype = tensor.dtype
    if dtype.is_complex:
        tensor = torch.view_as_real(tensor.resolve_conj())
        dtype = tensor.dtype
    known = known_floats.get(dtype)
    if known is None:
        known = known_floats[dtype] = str(dtype).rpartition(".")[2] in FLOATS
    return tensor if known else None


def grade_now(tensor):
    """Waits if the tensor is on a GPU."""
    floats = as_floats(tensor)
    if floats is None:
        return CLEAN
    if floats.dim() == 0:
        value = floats.item()
        return grade_of(value, value)
    least, greatest = sys.modules["torch"].aminmax(floats)
    return grade_of(greatest.item(), least.item())


class Page:
    """The slots of one stream, for results of one type. The GPU fills them asynchronously."""

    def __init__(self, device, dtype):
        torch = sys.modules["torch"]
        self.slots = torch.zeros(PAGE, dtype=dtype, device=device)
        self.views = self.slots.unbind(0)
        self.used = 0
        self.host = self.event = None
        self.read = False

    def add(self, floats):
        # The greatest absolute value, or NaN if there is one. Takes one kernel, as input and slot have the same type.
        norm = sys.modules["torch"]._C._linalg.linalg_vector_norm
        norm(floats, INFINITY, out=self.views[self.used])
        self.used += 1
        return self.used - 1

    def send(self):
        """Queues the copy of the page to the host."""
        torch = sys.modules["torch"]
        self.host = self.slots.to("cpu", non_blocking=True)
        self.event = torch.cuda.Event()
        self.event.record()

    def has_arrived(self):
        return self.read or (self.event is not None and self.event.query())

    def numbers(self):
        if not self.read:
            self.host, self.read = self.host.tolist(), True
        return self.host


class Slots:
    """The pages of all streams. A check is (page, slot). Its grade is known once the page has arrived."""

    def __init__(self):
        self.pages = {}  # by device, stream and type: the page being filled

    def add(self, floats):
        device, dtype = floats.device, floats.dtype
        key = (device.index, sys.modules["torch"]._C._cuda_getCurrentRawStream(device.index), dtype)
        page = self.pages.get(key)
        if page is None or page.used == PAGE:
            page = self.pages[key] = Page(device, dtype)
        check = (page, page.add(floats))
        if page.used == PAGE:  # the grades are taken in the order of the checks, so no page may stay behind
            self.send_all_of(key[:2])
        return check

    def send_all_of(self, stream):
        for key, page in list(self.pages.items()):
            if key[:2] == stream:
                page.send()
                del self.pages[key]

    def send_all(self):
        """Ends the pages of the current streams. Pages of other streams continue."""
        current = sys.modules["torch"]._C._cuda_getCurrentRawStream
        for device, stream in {key[:2] for key in self.pages}:
            if current(device) == stream:
                self.send_all_of((device, stream))

    def wait(self):
        """Waits for everything issued, at the end of the program."""
        torch = sys.modules["torch"]
        for (device, stream, _), page in list(self.pages.items()):
            torch.cuda.synchronize(device)
            page.send()
            page.event.synchronize()
        self.pages.clear()


slots = Slots()


def grade_at(check):
    """The grade; None if it is not known yet."""
    page, slot = check
    return grade_of(page.numbers()[slot], 0.0) if page.has_arrived() else None


def can_check_later(tensor):
    return tensor.device.type in devices and not is_capturing()
