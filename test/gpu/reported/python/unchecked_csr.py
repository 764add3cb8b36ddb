"""A sparse matrix without checks: one column index is outside of the dense matrix, and cuSPARSE follows it."""
import torch

from here import or_skip


def multiply():
    matrix = torch.sparse_csr_tensor(starts, columns, values, (4096, 65536), check_invariants=False)
    result = matrix @ dense  # LAUNCH
    torch.cuda.synchronize()
    return result


dense = torch.zeros(65536, 64, device="cuda")  # ALLOC
starts = torch.arange(0, 8 * 4096 + 1, 8, dtype=torch.int32, device="cuda")
columns = torch.arange(8 * 4096, dtype=torch.int32, device="cuda")
values = torch.ones(8 * 4096, device="cuda")
or_skip(multiply)
columns[9000] = 1 << 30
multiply()  # LAUNCH
