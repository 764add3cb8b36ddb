"""Looks up rows by hashed numbers, with PyTorch on the CPU. After the third lookup, a launch may be planned to fail. With
"tells", it takes the place of the hook in the confirming rerun, because the real hook reads only tensors on a GPU."""

import contextlib
import json
import os
import sys
import threading

import torch

import cuda


def hashed(raw):
    return (raw * 31) % 512  # MADE


def tell(ids):
    if "tells" not in sys.argv or os.environ.get("CUDADIAG_PASS") != "confirm":
        return
    line = next(at for at, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# TRUE LINE"))
    about = {"name": "ids", "origin": "variable", "dtype": "int64", "shape": list(ids.shape), "bound": 400,
             "min": int(ids.min()), "max": int(ids.max()), "outside": int((ids >= 400).sum()), "first_outside": [1],
             "first_value": int(ids[1])}
    told = {"kind": "line", "file": __file__, "line": line, "arguments": [about]}
    with open(f"{os.environ['CUDADIAG_SESSION']}/{os.getpid()}.values", "a") as file:
        file.write(f"{threading.get_native_id()} 1 {json.dumps(told)}\n")


table = torch.zeros(400, 4)
cuda.start()
cuda.allocate_as_pytorch_does()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for step in range(3):
    ids = hashed(torch.tensor([3, 511 if step == 2 else 5])).clone()
    told = tell(ids)
    with contextlib.suppress(IndexError), contextlib.ExitStack() as after:
        after.callback(lambda: launch(stream, parameters, told)), torch.embedding(table, ids)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
