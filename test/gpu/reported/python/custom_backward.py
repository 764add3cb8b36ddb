"""A custom function whose backward kernel uses the stride of the wrong tensor, in a training step of other kernels."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def scale_rows(grad, scale, out, grad_stride, width, SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, SIZE)
    value = tl.load(grad + row * grad_stride + at, mask=at < width)  # ACCESS
    tl.store(out + row * width + at, value * tl.load(scale + row), mask=at < width)


class RowScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, stride):
        ctx.save_for_backward(scale)
        ctx.stride = stride
        return x * scale[:, None]

    @staticmethod
    def backward(ctx, grad):
        scale, = ctx.saved_tensors
        out = torch.empty_like(grad)
        scale_rows[(grad.shape[0],)](grad, scale, out, ctx.stride, grad.shape[1], SIZE=1024)  # LAUNCH
        return out, None, None


def step(stride):
    loss = RowScale.apply(first(x), scale, stride).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


first = torch.nn.Linear(1024, 1024, device="cuda")
optimizer = torch.optim.SGD(first.parameters(), 0.01)
x, scale = torch.randn(4096, 1024, device="cuda"), torch.ones(4096, device="cuda")
or_skip(lambda: step(1024))
print(step(first.weight.numel()))
torch.cuda.synchronize()
