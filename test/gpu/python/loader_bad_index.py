"""Workers of a DataLoader produce the bad index; the process that trains looks it up."""
import torch
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor([i, 5 if i != 6 else 30050])


def train(embedding, loader):
    total = torch.zeros(1, device="cuda")
    for batch in loader:
        total += embedding(batch.cuda(non_blocking=True)).sum()  # TRUE LINE
    return total


if __name__ == "__main__":
    embedding = torch.nn.Embedding(100, 16).cuda()
    total = train(embedding, DataLoader(Tokens(), batch_size=2, num_workers=2, pin_memory=True))
    print(total.item())  # BLAMED
