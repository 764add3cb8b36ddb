"""A request's block table is dropped when the request ends; a captured gather reads the next request's table.

Report: https://github.com/gittensor-ai-lab/sparkinfer/pull/147
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def gather(cache, table, out, SIZE: tl.constexpr):
    block = tl.load(table + tl.program_id(0))
    at = tl.arange(0, SIZE)
    tl.store(out + tl.program_id(0) * SIZE + at, tl.load(cache + block * SIZE + at))


corrected = len(sys.argv) > 1
retired = []
cache = torch.arange(8192, device="cuda").repeat_interleave(256).float()
out = torch.zeros(4096 * 256, device="cuda")
tables = {}
tables[0] = torch.arange(4096, dtype=torch.int32, device="cuda")  # ALLOC
tables[1] = torch.arange(4096, 8192, dtype=torch.int32, device="cuda")
address = tables[0].data_ptr()
gather[(4096,)](cache, tables[0], out, SIZE=256)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    gather[(4096,)](cache, tables[0], out, SIZE=256)  # CAPTURE
if corrected:
    retired.append(tables[0])
tables.pop(0)  # FREED
tables[2] = torch.full((4096,), 77, dtype=torch.int32, device="cuda")  # OWNER
if not corrected and tables[2].data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(out[256].item())
