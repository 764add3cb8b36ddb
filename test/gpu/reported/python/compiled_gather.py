"""A compiled lookup with an id outside the table: the generated kernel checks the index and stops."""
import torch

from here import or_skip


@torch.compile
def lookup(table, ids):
    return torch.relu(table[ids]) * 2  # LAUNCH


table = torch.randn(50_000, 64, device="cuda")
ids = torch.zeros(4096, dtype=torch.int64, device="cuda")
or_skip(lambda: (lookup(table, ids), torch.cuda.synchronize()))
ids[99] = 50_257
lookup(table, ids)  # LAUNCH
torch.cuda.synchronize()
