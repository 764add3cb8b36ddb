"""A smaller cache is allocated and captured again, but most slots still belong to the larger cache."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def store_rows(cache, slots, WIDTH: tl.constexpr):
    slot = tl.load(slots + tl.program_id(0))
    at = tl.arange(0, WIDTH)
    tl.store(cache + slot * WIDTH + at, at.to(tl.float32))  # ACCESS


def warm_up():
    cache = torch.zeros(65536, 1024, device="cuda")
    store_rows[(64,)](cache, slots, WIDTH=1024)
    torch.cuda.synchronize()
    del cache
    torch.cuda.empty_cache()


def capture(cache):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        store_rows[(64,)](cache, slots, WIDTH=1024)  # LAUNCH
    return graph


slots = torch.arange(64, device="cuda") * 1000
or_skip(warm_up)
cache = torch.zeros(8192, 1024, device="cuda")  # ALLOC
graph = or_skip(lambda: capture(cache))
slots[:8] = torch.arange(8, device="cuda")
graph.replay()  # LAUNCH
torch.cuda.synchronize()
