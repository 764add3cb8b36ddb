"""Before each replay, slots are computed into a new tensor; the captured gather still reads the old block.

Report: https://github.com/alibaba/rtp-llm/pull/1259
"""
import sys

import torch

corrected = len(sys.argv) > 1


class Attention:
    def __init__(self, pages):
        self.slots = pages * 2  # ALLOC
        self.cache = torch.arange(4 << 20, dtype=torch.float32, device="cuda")
        self.out = torch.zeros(2 << 20, device="cuda")

    def prepare(self, pages):
        if corrected:
            torch.mul(pages, 2, out=self.slots)
        else:
            self.slots = pages * 2  # FREED
        self.counts = torch.zeros(2 << 20, dtype=torch.int64, device="cuda")  # OWNER

    def forward(self):
        torch.index_select(self.cache, 0, self.slots, out=self.out)  # CAPTURE


pages = torch.arange(2 << 20, device="cuda")
attention = Attention(pages)
address = attention.slots.data_ptr()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    attention.forward()
graph.replay()
attention.prepare(pages.flip(0))
if not corrected and attention.counts.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(attention.out[0].item(), attention.out[1].item())
