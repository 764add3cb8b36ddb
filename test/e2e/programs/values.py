"""Launches a kernel on an array of a library. The third launch may be planned to fail."""

import json
import os
import pathlib
import sys
import threading

import cuda


class Array:
    def __init__(self, *shape):
        self.shape = shape

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<i8", "data": (4096, False), "version": 3}


def work():
    cuda.start()  # this thread has no context yet
    launch, parameters = cuda.kernel("smooth")
    stream = cuda.stream()
    for step in range(10):
        idx = Array(step, 512)
        launch(stream, parameters, None if idx else idx)  # TRUE LINE
    return cuda.driver.cuStreamSynchronize(stream)


def work_of_library():
    sys.path.append(str(pathlib.Path(__file__).parent / "site-packages"))
    import kernels
    launch, parameters = cuda.kernel("smooth")
    stream = cuda.stream()
    for step in range(10):
        rows = Array(step, 512)
        kernels.apply(launch, stream, parameters, rows)
    return cuda.driver.cuStreamSynchronize(stream)


def save_call():
    """Stands in for the hook, which saves only PyTorch's calls. The "interpreter" is a program that fails."""
    folder = pathlib.Path(os.environ["CUDADIAG_SESSION"], f"{os.getpid()}.inputs")
    folder.mkdir()
    stand_in = folder / "python"
    stand_in.write_text("#!/bin/sh\ntest -s \"$1\" && exit 10\n")
    stand_in.chmod(0o700)
    call = {"operator": "aten::embedding", "python": str(stand_in), "bytes": 48, "tensors": [{}], "missing": ["a thing"]}
    (folder / "call.json").write_text(json.dumps(call))
    os.mkfifo(folder / "replay.py")  # no process reads it


cuda.start()
if "saves" in sys.argv and os.environ["CUDADIAG_PASS"] == "confirm":
    save_call()
codes = []
if "thread" in sys.argv:
    thread = threading.Thread(target=lambda: codes.append(work()))
    thread.start()
    thread.join()
else:
    codes.append(work_of_library() if "library" in sys.argv else work())
if "again" in sys.argv:
    print(sorted(name for name in sys.modules if "cudadiag" in name), flush=True)
sys.exit(3 if codes[0] else 0)
