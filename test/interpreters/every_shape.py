"""Launches a kernel from every shape of Python code, under the name of the shape. Prints as JSON what the interpreter
itself says about the stack there: {shape: [[file, line, function], …]}, innermost first.

The driver is called through ctypes; "# LINE shape" marks the line that launches.
"""
import asyncio
import contextlib
import ctypes
import functools
import json
import pathlib
import sys
import tempfile
import threading
import traceback
import zipfile

driver = ctypes.CDLL("libcuda.so.1")
launch = None  # hooks see only calls through addresses that are looked up after cuInit
module, stream, stacks = ctypes.c_void_p(), ctypes.c_void_p(), {}


def check(code):
    if code:
        raise SystemExit(f"CUDA error {code}")


def kernel(shape):
    """Returns the arguments of cuLaunchKernel. It is called on the line that launches, so it also records the stack
    there."""
    frames = reversed(traceback.extract_stack()[:-1])
    stacks[shape] = [(frame.filename, frame.lineno, frame.name) for frame in frames]
    function = ctypes.c_void_p()
    check(driver.cuModuleGetFunction(ctypes.byref(function), module, shape.encode()))
    return (function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)


def plain():
    launch(*kernel("plain"))  # LINE plain


def generated():
    yield 1
    launch(*kernel("generator"))  # LINE generator
    yield 2


def delegated():
    yield from generated()


async def coroutine():
    await asyncio.sleep(0)
    launch(*kernel("coroutine"))  # LINE coroutine


async def awaits():
    await coroutine()


def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorator
def decorated(times):
    for _ in range(times):
        launch(*kernel("decorator"))  # LINE decorator


def class_body():
    class Body:
        launch(*kernel("class_body"))  # LINE class_body


def comprehension():
    return [
        launch(*kernel("comprehension"))  # LINE comprehension
        for _ in range(1)
    ]


def callback():
    """libc's qsort compares by a Python function."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(*_):
        launch(*kernel("callback"))  # LINE callback
        return 0

    two = (ctypes.c_int * 2)()
    ctypes.CDLL(None).qsort(two, ctypes.c_size_t(2), ctypes.c_size_t(4), kind(compare))


def recursion(depth):
    if depth:
        return recursion(depth - 1)
    launch(*kernel("recursion"))  # LINE recursion


class Managed:
    @property
    def value(self):
        launch(*kernel("property"))  # LINE property

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            launch(*kernel("exit"))  # LINE exit
        finally:
            self.done = True


@contextlib.contextmanager
def manager():
    yield
    launch(*kernel("contextmanager"))  # LINE contextmanager


def zipped(folder):
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("zipped_module.py", "def run(launch, kernel):\n    launch(*kernel('zipped'))\n")
        archive.writestr("imported.py", "import __main__\n\n__main__.launch(*__main__.kernel('imported'))\n")
    sys.path.insert(0, str(folder / "archive.zip"))
    import zipped_module

    zipped_module.run(launch, kernel)
    import imported  # noqa: F401


def main():
    global launch
    check(driver.cuInit(0))
    launch = driver.cuLaunchKernel
    context = ctypes.c_void_p()
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))
    check(driver.cuModuleLoadData(ctypes.byref(module), b"target"))
    check(driver.cuStreamCreate(ctypes.byref(stream), 1))
    plain()
    list(delegated())
    asyncio.run(awaits())
    decorated(1)
    exec("\n\nlaunch(*kernel('exec'))")  # LINE exec
    (lambda: launch(*kernel("lambda")))()  # LINE lambda
    sorted([1], key=lambda _: launch(*kernel("key")))  # LINE key
    class_body()
    comprehension()
    callback()
    recursion(300)
    with Managed() as managed:
        managed.value
    with manager():
        pass
    functools.partial(launch, *kernel("partial"))()  # LINE partial
    with tempfile.TemporaryDirectory() as folder:
        zipped(pathlib.Path(folder))

    def in_thread():
        check(driver.cuCtxSetCurrent(context))
        launch(*kernel("thread"))  # LINE thread

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    print(json.dumps(stacks), flush=True)
    sys.exit(3 if driver.cuStreamSynchronize(stream) else 0)


main()
