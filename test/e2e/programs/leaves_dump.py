"""leaves_dump.py KERNEL DUMP [OTHER]: ten launches, one of which may be planned to fail. In the device pass, it writes
the dump (gzip-compressed) where the driver would; "unfinished" prints what the driver prints when it begins a dump.
Under compute-sanitizer, it prints its environment. With OTHER, launches of that kernel on another stream come first,
and the rerun that waits for the suspects ends before all of them have run."""

import gzip
import os
import pathlib
import sys

import cuda

name, dump, *others = sys.argv[1:]
if os.environ.get("CUDADIAG_PASS") == "device" and dump == "unfinished":
    print("[09:00:00.000000] coredump: Starting GPU coredump generation")
elif os.environ.get("CUDADIAG_PASS") == "device" and dump != "none":
    folder = pathlib.Path(os.environ["CUDA_COREDUMP_FILE"]).parent
    (folder / "1.gpucore").write_bytes(gzip.decompress(pathlib.Path(dump).read_bytes()))
if os.environ.get("CUDADIAG_PASS") == "sanitize":
    print([os.environ.get(key) for key in ("PYTORCH_NO_CUDA_MEMORY_CACHING", "WANDB_MODE", "CUDA_INJECTION64_PATH")])
if others and os.environ.get("CUDADIAG_PASS") == "confirm":
    sys.exit(1)
cuda.start()
launch, parameters = cuda.kernel(name)
stream = cuda.stream()
beside = [(cuda.kernel(other)[0], cuda.stream()) for other in others]
for step in range(10):
    for other, on in beside:
        other(on, parameters, None)
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
