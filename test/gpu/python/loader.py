"""Correct: DataLoader workers, forked while a context exists, that never use CUDA themselves."""
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        return torch.full((8,), float(i))


if __name__ == "__main__":
    total = torch.zeros(8, device="cuda")
    for batch in DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=True):
        total += batch.cuda(non_blocking=True).sum(0)
    print(total.tolist())
