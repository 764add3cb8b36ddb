"""far_store.py BYTES: launches the kernel far_store three times, with a block of memory. The core dump of a test says that
it failed; its address is lost, because the warp has exited."""

import ctypes
import sys

import cuda

NAME = "_Z9far_storePi"
CODE = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {NAME}(.param .u64 p)\n{{\n ret;\n}}\n"

cuda.start()
launch, _ = cuda.kernel(NAME, 32, CODE.encode())
block = ctypes.c_uint64()
cuda.check(cuda.driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(int(sys.argv[1]))))
parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(block), ctypes.c_void_p))
stream = cuda.stream()
for step in range(3):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
