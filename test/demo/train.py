"""Looks up a token for which the embedding has no row. PyTorch reports it at the next call that waits for the GPU."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(30000, 64)
        self.head = torch.nn.Linear(64, 4)

    def forward(self, idx):
        y = self.emb(idx)
        return self.head(y)


model = Model().cuda()
idx = torch.randint(0, 30000, (8, 512), device="cuda")
idx[0, 77] = 30050
loss = model(idx).square().mean()
print("loss", loss.item())
