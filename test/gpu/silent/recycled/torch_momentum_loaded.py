"""A checkpoint replaces the optimizer's momentum after the step was captured; replays update another tensor instead.

Related: https://github.com/ooples/AiDotNet.Tensors/pull/549
"""
import copy
import sys

import torch

corrected = len(sys.argv) > 1
weight = torch.nn.Parameter(torch.ones(4 << 20, device="cuda"))
weight.grad = torch.ones_like(weight)
optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.5)
optimizer.step()  # ALLOC
saved = copy.deepcopy(optimizer.state_dict())
address = optimizer.state[weight]["momentum_buffer"].data_ptr()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    optimizer.step()  # CAPTURE
graph.replay()
torch.cuda.synchronize()
if corrected:
    optimizer.state[weight]["momentum_buffer"].copy_(saved["state"][0]["momentum_buffer"])
else:
    optimizer.load_state_dict(saved)  # FREED
average = torch.full((4 << 20,), 8.0, device="cuda")  # OWNER
if not corrected and average.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(weight[0].item(), average[0].item())
