"""A layer is graphed for two input shapes, with forward and backward passes of both in one pool.

Pattern: https://github.com/roboflow/rf-detr/pull/1490
"""
import copy

import torch

layer = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh()).cuda()
pool = torch.cuda.graph_pool_handle()
graphed = {}
for size in (64, 16):
    shared = copy.deepcopy(layer)
    for mine, theirs in zip(shared.parameters(), layer.parameters()):
        mine.data = theirs.data
    sample = torch.randn(size, 256, device="cuda")
    graphed[size] = torch.cuda.make_graphed_callables(shared, (sample,), pool=pool)
    del sample
for step in range(10):
    size = 16 if step % 3 else 64
    batch = torch.randn(size, 256, device="cuda")
    out = graphed[size](batch)
    out.sum().backward()
    assert torch.allclose(out, layer(batch), atol=0.01)
    graphed[size].zero_grad(set_to_none=True)
print(out.shape)
