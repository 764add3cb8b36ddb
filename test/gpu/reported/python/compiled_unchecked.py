"""A compiled lookup without checks of the index, and an id far outside the table."""
import torch

from here import or_skip


def without_checks():
    import torch._inductor.config
    assert torch._inductor.config.assert_indirect_indexing
    torch._inductor.config.assert_indirect_indexing = False


@torch.compile
def lookup(table, ids):
    return torch.relu(table[ids]) * 2  # LAUNCH


or_skip(without_checks)
table = torch.randn(1 << 18, 64, device="cuda")  # ALLOC
ids = torch.zeros(4096, dtype=torch.int64, device="cuda")
or_skip(lambda: (lookup(table, ids), torch.cuda.synchronize()))
ids[99] = 1 << 30
lookup(table, ids)  # LAUNCH
torch.cuda.synchronize()
