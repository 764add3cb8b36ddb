"""A longer sequence makes the program rebuild its rotary table; a captured product still reads the old table's block.

Related: https://github.com/sgl-project/sglang/pull/16343
"""
import sys

import torch

corrected = len(sys.argv) > 1
retired = []


class Rotary:
    def __init__(self, length):
        self.cosines = self.table(length)

    @staticmethod
    def table(length):
        angles = torch.arange(length * 128, dtype=torch.float32, device="cuda")
        return angles.cos().view(length, 128)  # ALLOC

    def extend(self, length):
        longer = self.table(length)
        if corrected:
            retired.append(self.cosines)
        self.cosines = longer  # FREED


rotary = Rotary(32768)
address = rotary.cosines.data_ptr()
queries = torch.ones(32768, 128, device="cuda")
rotated = torch.zeros_like(queries)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.mul(queries, rotary.cosines, out=rotated)  # CAPTURE
graph.replay()
rotary.extend(65536)
keys = torch.full((32768, 128), 5.0, device="cuda")  # OWNER
if not corrected and keys.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(rotated[0, 0].item())
