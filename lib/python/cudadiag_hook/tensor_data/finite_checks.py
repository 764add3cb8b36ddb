"""Grades tensors by their worst element: finite, infinite or NaN. Tensors on the host are graded immediately, and
tensors on a GPU asynchronously, through slots."""
import sys

CLEAN, INFINITE, NOT_A_NUMBER = 0, 1, 2
PAGE = 64  # checks per page; with larger pages, more objects wait for grades, and the garbage collector runs more often
FEW, SMALL = 4, 1 << 16  # with at least FEW results, those of at most SMALL elements share kernels
INFINITY = float("inf")
FLOATS = ("float16", "bfloat16", "float32", "float64")
known_floats = {}  # by dtype, except complex ones: whether its name is one of FLOATS, or SMALL_FLOAT
SMALL_FLOAT = "float8_"  # the names of types of 8 bits begin so; few operators take them, and bfloat16 has all their values


class Reach:
    """Which elements count as bad: NaN, or infinite elements too."""

    worst = NOT_A_NUMBER


reach = Reach()


def grade_of(greatest, least):
    if greatest != greatest or least != least:
        return NOT_A_NUMBER
    return INFINITE if greatest == float("inf") or least == float("-inf") else CLEAN


def as_floats(tensor):
    """Returns the tensor, a complex tensor viewed as real numbers, or a copy of one with a type of 8 bits; None if it has
    no elements to check."""
    dtype = tensor.dtype
    is_float = known_floats.get(dtype)
    if is_float is None and not dtype.is_complex:
        name = str(dtype).rpartition(".")[2]
        is_float = known_floats[dtype] = SMALL_FLOAT if name.startswith(SMALL_FLOAT) else name in FLOATS
    if is_float is False:
        return None
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.numel() == 0 or \
            tensor._is_zerotensor() or tensor.is_nested:  # zero tensors have no memory; nested ones have no shape
        return None
    if is_float is SMALL_FLOAT:
        return tensor.to(torch.bfloat16)
    return tensor if is_float else as_floats(torch.view_as_real(tensor.resolve_conj()))


def grade_now(tensor):
    """Returns the tensor's grade. Waits if the tensor is on a GPU."""
    floats = as_floats(tensor)
    if floats is None:
        return CLEAN
    if floats.dim() == 0:
        value = floats.item()
        return grade_of(value, value)
    least, greatest = sys.modules["torch"].aminmax(floats)
    return grade_of(greatest.item(), least.item())


class Buffer:
    """Memory for the checks of a page. Later pages reuse it."""

    def __init__(self, device, dtype):
        torch = sys.modules["torch"]
        self.slots = torch.zeros(PAGE, dtype=dtype, device=device)
        self.views = self.slots.unbind(0)
        self.host = None
        self.event = torch.cuda.Event()

    def send(self):
        """Queues the copy to the host."""
        if self.host is None:
            self.host = self.slots.to("cpu", non_blocking=True)
        else:
            self.host.copy_(self.slots, non_blocking=True)
        # By default, the event would be recorded on the current device. It would not show whether the copy from another
        # GPU has arrived.
        self.event.record(sys.modules["torch"].cuda.current_stream(self.slots.device))


class Page:
    """The slots of one stream, for results of one type. The GPU fills them asynchronously."""

    __slots__ = ("buffer", "free", "used", "is_sent", "grades")

    def __init__(self, buffer, free):
        self.buffer, self.free = buffer, free  # the buffer is returned to `free`
        self.used, self.is_sent = 0, False
        self.grades = None  # None until they have arrived

    def send(self):
        self.buffer.send()
        self.is_sent = True

    def has_arrived(self):
        if self.grades is None and self.is_sent and self.buffer.event.query():
            self.read()
        return self.grades is not None

    def read(self):
        numbers = self.buffer.host.tolist()[:self.used]
        # If one element is not finite, neither is the sum.
        self.grades = ALL_CLEAN if sum(numbers) < INFINITY else [grade_of(each, 0.0) for each in numbers]
        self.free.append(self.buffer)
        self.buffer = None

    def wait(self):
        if self.grades is None:
            self.buffer.event.synchronize()
            self.read()


ALL_CLEAN = (CLEAN,) * PAGE


class Slots:
    """The pages of all streams. A check is (page, slot). Its grade is known once the page has arrived."""

    def __init__(self):
        self.pages = {}  # by device, stream and type: the page being filled
        self.free = {}  # by device, stream and type: buffers for later pages

    def page_for(self, core, floats):
        """Returns (the page for the check of this tensor, the page's key)."""
        device, dtype = floats.device, floats.dtype
        index = device.index
        key = (index, core._cuda_getCurrentRawStream(index), dtype)
        page = self.pages.get(key)
        if page is None:
            free = self.free.setdefault(key, [])
            page = self.pages[key] = Page(free.pop() if free else Buffer(device, dtype), free)
        return page, key

    def add(self, floats):
        core = sys.modules["torch"]._C
        page, key = self.page_for(core, floats)
        slot = page.used
        # The greatest absolute value, or NaN if any element is NaN. A single kernel computes it, because input and slot
        # have the same type.
        core._linalg.linalg_vector_norm(floats, INFINITY, out=page.buffer.views[slot])
        page.used += 1
        if page.used == PAGE:  # grades are read in the order of the checks, so the stream's pages are sent together
            self.send_all_of(key[:2])
        return page, slot

    def add_all(self, tensors):
        """Queues the checks of one operator's results. Small tensors of the same type share kernels."""
        torch = sys.modules["torch"]
        if len(tensors) < FEW or not hasattr(torch, "_foreach_copy_"):  # before 2.1
            return [self.add(each) for each in tensors]
        device, dtype = tensors[0].device, tensors[0].dtype
        small = [each for each in tensors
                 if each.dtype is dtype and each.numel() <= SMALL and each.device == device]
        checks, done = {}, 0
        while done < len(small):
            page, key = self.page_for(torch._C, small[0])
            some, first = small[done:done + PAGE - page.used], page.used
            torch._foreach_copy_(page.buffer.views[first:first + len(some)], torch._foreach_norm(some, INFINITY))
            page.used += len(some)
            checks.update((id(each), (page, first + number)) for number, each in enumerate(some))
            done += len(some)
            if page.used == PAGE:
                self.send_all_of(key[:2])
        return [checks.get(id(each)) or self.add(each) for each in tensors]

    def send_all_of(self, stream):
        for key, page in list(self.pages.items()):
            if key[:2] == stream:
                page.send()
                del self.pages[key]

    def send_all(self):
        """Sends the pages of the current streams. Pages of other streams stay open and keep filling."""
        current = sys.modules["torch"]._C._cuda_getCurrentRawStream
        for device, stream in {key[:2] for key in self.pages}:
            if current(device) == stream:
                self.send_all_of((device, stream))

    def wait(self):
        """Waits until all queued checks have arrived."""
        torch = sys.modules["torch"]
        for (device, _, _), page in list(self.pages.items()):
            torch.cuda.synchronize(device)
            page.send()
            page.wait()
        self.pages.clear()


slots = Slots()


def grade_at(check):
    """Returns the grade; None if it has not arrived yet."""
    page, slot = check
    return page.grades[slot] if page.has_arrived() else None
