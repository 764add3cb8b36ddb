"""The backend cudagraphs replays graphs for three lengths, while inputs and results come and go.

Pattern: https://github.com/pytorch/torchdynamo/issues/1692
"""
import torch


@torch.compile(backend="cudagraphs", dynamic=False)
def smoothed(x):
    middle = x * 0.5
    return middle + middle.roll(1)


for step in range(18):
    torch.compiler.cudagraph_mark_step_begin()
    length = 1 << (16 + step % 3)
    x = torch.full((length,), float(step), device="cuda")
    result = smoothed(x).clone()
    del x
    between = torch.full((length,), -1.0, device="cuda")
    assert result[length - 1].item() == step
print(between.numel())
