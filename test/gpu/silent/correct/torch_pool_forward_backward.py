"""The forward and the backward pass are captured as two graphs of one pool; activations stay in the pool.

Pattern: https://github.com/roboflow/rf-detr/pull/1490
"""
import torch

weight = torch.full((256, 256), 0.01, device="cuda", requires_grad=True)
static = torch.ones(64, 256, device="cuda")
upstream = torch.ones(64, 256, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    torch.autograd.grad((static @ weight).square(), weight, upstream)
torch.cuda.current_stream().wait_stream(side)
forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(forward):
    out = (static @ weight).square()
with torch.cuda.graph(backward, pool=forward.pool()):
    gradient, = torch.autograd.grad(out, weight, upstream)
del out
for step in range(1, 8):
    static.fill_(step)
    upstream.fill_(0.5)
    forward.replay()
    backward.replay()
    expected = 0.5 * 2 * (256 * 0.01 * step) * step * 64
    assert abs(gradient[4, 4].item() / expected - 1) < 0.01
print(gradient.shape)
