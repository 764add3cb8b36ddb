"""The third launch is bad. While cudadiag's hook handles tensors, Python collects a stream that still has unfinished
work."""

import contextlib
import os
import sys
import types

import cuda

garbage = []


class Guard(contextlib.nullcontext):
    def __init__(self):
        super().__init__()
        while garbage:
            print("garbage was collected")
            cuda.driver.cuStreamDestroy_v2(garbage.pop())


torch = types.ModuleType("torch")
torch.nn, torch.cuda = types.ModuleType("torch.nn"), types.SimpleNamespace(is_initialized=lambda: False)
torch.Tensor, torch.nn.Parameter = type("Tensor", (), {}), type("Parameter", (), {})
torch._C = types.SimpleNamespace(DisableTorchFunction=Guard, _DisableTorchDispatch=Guard)
sys.modules.update({"torch": torch, "torch.utils._python_dispatch": torch, "torch.cuda": torch.cuda})

cuda.start()
launch, parameters = cuda.kernel("smooth")
fill, _ = cuda.kernel("fill")
stream = cuda.stream()
garbage.append(cuda.stream())
for _ in range(43):
    fill(garbage[0], parameters, None)
if os.environ["CUDADIAG_PASS"] == "record":
    cuda.driver.cuStreamSynchronize(garbage[0])
for step in range(10):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
