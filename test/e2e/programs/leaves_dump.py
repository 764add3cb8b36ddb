"""leaves_dump.py KERNEL DUMP: ten launches, one of which may be planned to fail; in the device pass it leaves the dump
(gzip-compressed) where the driver would. In the pass under compute-sanitizer it tells its environment."""

import gzip
import os
import pathlib
import sys

import cuda

name, dump = sys.argv[1:]
if os.environ.get("CUDADIAG_PASS") == "device" and dump != "none":
    folder = pathlib.Path(os.environ["CUDA_COREDUMP_FILE"]).parent
    (folder / "1.gpucore").write_bytes(gzip.decompress(pathlib.Path(dump).read_bytes()))
if os.environ.get("CUDADIAG_PASS") == "sanitize":
    print([os.environ.get(key) for key in ("PYTORCH_NO_CUDA_MEMORY_CACHING", "WANDB_MODE", "CUDA_INJECTION64_PATH")])
cuda.start()
launch, parameters = cuda.kernel(name)
stream = cuda.stream()
for step in range(10):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
