"""A captured division reads the temperatures of the first batch; later, their block holds limits for sampling.

Related: https://github.com/pytorch/pytorch/pull/174649
"""
import sys

import torch

corrected = len(sys.argv) > 1


class Batch:
    def __init__(self, temperature):
        self.temperatures = torch.full((64, 1), temperature, device="cuda")  # ALLOC


logits = torch.ones(64, 32000, device="cuda")
scaled = torch.zeros_like(logits)
static = torch.ones(64, 1, device="cuda")


def capture(temperatures):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.div(logits, temperatures, out=scaled)  # CAPTURE
    return graph


batch = Batch(0.5)
address = batch.temperatures.data_ptr()
graph = capture(static.copy_(batch.temperatures) if corrected else batch.temperatures)
graph.replay()
del batch  # FREED
limits = torch.full((64, 1), 0.125, device="cuda")  # OWNER
if not corrected and limits.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(scaled[3, 3].item())
