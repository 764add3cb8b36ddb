"""A shared workspace is replaced by a larger one; a captured kernel still writes to the old one, now somebody's scores.

Report: https://github.com/flashinfer-ai/flashinfer/issues/4398
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x, workspace, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(workspace + at, tl.load(x + at) * 2)


corrected = len(sys.argv) > 1
workspaces, retired = {}, []


def workspace(numel):
    held = workspaces.get("gemm")
    if held is None or held.numel() < numel:
        if corrected and held is not None:
            retired.append(held)
        del held
        workspaces["gemm"] = None  # FREED
        workspaces["gemm"] = torch.empty(numel, device="cuda")  # ALLOC
    return workspaces["gemm"]


x = torch.ones(8 << 20, device="cuda")
doubled[(4096,)](x, workspace(4 << 20), SIZE=1024)
address = workspace(4 << 20).data_ptr()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    doubled[(4096,)](x, workspace(4 << 20), SIZE=1024)  # CAPTURE
doubled[(8192,)](x, workspace(8 << 20), SIZE=1024)
scores = torch.full((4 << 20,), 0.25, device="cuda")  # OWNER
if not corrected and scores.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(scores[0].item())
