"""A sparse matrix with a column index outside the matrix; its invariants are checked on the GPU."""
import torch

torch.sparse.check_sparse_tensor_invariants.enable()
starts = torch.tensor([0, 2, 3, 4], device="cuda")
columns = torch.tensor([0, 1, 2, 3], device="cuda")
weights = torch.ones(4, device="cuda")
matrix = torch.sparse_csr_tensor(starts, columns, weights, size=(3, 3))  # TRUE LINE
print(matrix.values().sum().item())  # BLAMED
