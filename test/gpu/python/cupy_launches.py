"""CuPy: a pitch that leads out of the image, a block that is too large, or too much memory: cupy_launches.py CASE"""
import sys

import cupy

CODE = r"""extern "C" __global__ void shade(float* image, long long pitch) {
  image[blockIdx.x * pitch + threadIdx.x] = 1;
}"""
shade = cupy.RawKernel(CODE, "shade")
image = cupy.zeros((64, 32), dtype=cupy.float32)
try:
    shade((64,), (32,), (image, cupy.int64(32)))
    cupy.cuda.Device().synchronize()
except Exception as e:
    print("CuPy does not work here:", e, file=sys.stderr)
    sys.exit(77)
if sys.argv[1] == "pitch":
    shade((64,), (32,), (image, cupy.int64(1 << 40)))  # TRUE LINE pitch
elif sys.argv[1] == "block":
    shade((1,), (64 * 32,), (image, cupy.int64(32)))  # TRUE LINE block
else:
    cupy.zeros((1 << 40,), dtype=cupy.float32)  # TRUE LINE memory
print(float(image.sum()))  # BLAMED
