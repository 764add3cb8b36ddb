"""A mask is gathered in a side stream and used by a graph; the side stream's next tensor gets the mask's block.

Related: https://github.com/pytorch/pytorch/pull/174649
"""
import sys

import torch

corrected = len(sys.argv) > 1
side = torch.cuda.Stream()
allowed = torch.zeros(4, 131072, dtype=torch.bool, device="cuda")
allowed[2] = True
states = torch.full((128,), 2, device="cuda")
logits = torch.ones(128, 131072, device="cuda")
floor = torch.tensor(-1.0, device="cuda")
masked = torch.zeros_like(logits)
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    mask = torch.index_select(allowed, 0, states)  # ALLOC
torch.cuda.synchronize()
address = mask.data_ptr()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.where(mask, logits, floor, out=masked)  # CAPTURE
if corrected:
    kept = mask
mask = None  # FREED
with torch.cuda.stream(side):
    accepted = torch.zeros((128, 131072), dtype=torch.bool, device="cuda")  # OWNER
torch.cuda.current_stream().wait_stream(side)
if not corrected and accepted.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(masked[0, 0].item())
