"""A model of library kernels with one kernel of its own, which gets far too many elements once."""
import cupy
import torch

from here import or_skip

clip = cupy.RawKernel("""
extern "C" __global__ void clip(float* x, long long n, float most) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = fminf(x[i], most);
}""", "clip")


def clipped(x, size):
    clip((256,), (256,), (cupy.intp(x.data_ptr()), cupy.int64(size), cupy.float32(6)))  # LAUNCH
    return x


def forward(x, layers, size):
    for layer in layers:
        x = torch.layer_norm(clipped(layer(x), size), (2048,))
    return torch.softmax(x, -1).sum()


layers = [torch.nn.Linear(2048, 2048, device="cuda") for _ in range(6)]
x = torch.randn(4096, 2048, device="cuda")
with torch.no_grad():
    or_skip(lambda: forward(x, layers, x.numel()).item())
    print(forward(x, layers, x.nbytes << 6).item())
