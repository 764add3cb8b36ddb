"""Two compiled functions form a tree of graphs: the second one reads the first one's output, on two paths.

Pattern: https://github.com/pytorch/pytorch/issues/137844
"""
import torch


@torch.compile(mode="reduce-overhead")
def doubled(x):
    return (x * 2).relu() + 1


@torch.compile(mode="reduce-overhead")
def added(x, y):
    return (x + y) * 0.5


for step in range(12):
    torch.compiler.cudagraph_mark_step_begin()
    x = torch.full((1 << 18,), float(step), device="cuda")
    hidden = doubled(x)
    if step % 4 == 3:
        hidden = added(hidden, x)
    result = added(hidden, hidden).clone()
    del hidden
    expected = 2.0 * step + 1
    if step % 4 == 3:
        expected = (expected + step) / 2
    assert abs(result[77].item() - expected) < 0.001
print(result[0].item())
