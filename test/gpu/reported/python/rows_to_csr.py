"""Rows of a part of a matrix are still global rows, and they are turned into row offsets of the local part."""
import torch

COUNT = (1 << 22) - 1


def offsets_of(rows):
    return torch._convert_indices_from_coo_to_csr(rows, COUNT)  # ALLOC, LAUNCH


local = torch.arange(4096, device="cuda")
offsets_of(local)
torch.cuda.synchronize()
offsets = offsets_of(local + (1 << 28))
torch.cuda.synchronize()
