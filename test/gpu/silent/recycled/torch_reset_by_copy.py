"""A graph resets a state by a copy from a device tensor that is deleted later; the copy then reads gradients.

Related: https://github.com/pytorch/pytorch/pull/174649
"""
import sys

import torch

corrected = len(sys.argv) > 1
state = torch.zeros(4 << 20, device="cuda")
initial = torch.full((4 << 20,), 0.5, device="cuda")  # ALLOC
address = initial.data_ptr()
reset = torch.cuda.CUDAGraph()
with torch.cuda.graph(reset):
    state.copy_(initial)  # CAPTURE
    state.add_(1)
for _ in range(2):
    reset.replay()
    state.mul_(3)
if corrected:
    kept = initial
del initial  # FREED
gradients = torch.full((4 << 20,), 11.0, device="cuda")  # OWNER
if not corrected and gradients.data_ptr() != address:
    sys.exit(77)
reset.replay()  # REPLAY
torch.cuda.synchronize()
print(state[0].item(), gradients[0].item())
