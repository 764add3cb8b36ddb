"""A library's memory pool rejects a request, and no CUDA call fails: pools.py cupy|jax HOW"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import cuda

library, how = sys.argv[1:]
if how == "late":
    cuda.start()
    cuda.kernel("fill")
if library == "cupy":
    import cupy
    OutOfMemory = cupy.cuda.memory.OutOfMemoryError
else:
    import jax
    OutOfMemory = jax.JaxRuntimeError
cuda.start()


def hold():
    if library == "jax":
        return jax.start(48 << 20)
    cupy.get_default_memory_pool().set_limit(64 << 20)
    return cupy.empty(48 << 20)  # HOLDER


def request():
    if library == "jax":
        return jax.zeros(32 if how == "huge" else 4)  # JAX LINE
    return cupy.empty(24 << 20)  # CUPY LINE


if how == "first":
    if library == "cupy":
        cupy.get_default_memory_pool().set_limit(1 << 20)
    request()
launch, parameters = cuda.kernel("fill")
stream = cuda.stream()
cuda.check(launch(stream, parameters, None))
kept = hold()
if how in ("fails", "huge", "late"):
    request()
elif how == "lacks":  # the GPU itself has too little memory
    if library == "jax":
        jax.grow(1 << 20)
    cupy.get_default_memory_pool().set_limit(1 << 60)
    cupy.empty(1 << 50)
elif how == "other":
    jax.compile_badly()
try:
    request()
except OutOfMemory as error:
    refusal = error
    if how == "chained":
        raise ValueError("the batch is too large") from error
    if how == "within":
        raise ValueError("the batch is too large")
    if how == "hidden":
        raise ValueError("the batch is too large") from None
    if how == "exits":
        print(error, file=sys.stderr)
        sys.exit(1)
cuda.check(launch(stream, parameters, None))
if how == "later":
    raise KeyError("label")
