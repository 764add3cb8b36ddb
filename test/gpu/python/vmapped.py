"""A function of one sample, mapped over the batch; one sample requests a column that does not exist."""
import torch


def pick(row, column):
    chosen = row.gather(0, column)  # TRUE LINE
    return chosen * 2


rows = torch.randn(16, 10, device="cuda")
columns = torch.zeros(16, 3, dtype=torch.long, device="cuda")
columns[9, 1] = 10
y = torch.vmap(pick)(rows, columns)
print(y.sum().item())  # BLAMED
