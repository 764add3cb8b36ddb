"""A token id outside the vocabulary; the error is read three statements later."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(100, 16)
        self.head = torch.nn.Linear(16, 4)

    def forward(self, idx):
        y = self.emb(idx)  # TRUE LINE
        return self.head(y)


model = Model().cuda()
idx = torch.randint(0, 100, (8, 32), device="cuda")
idx[0, 7] = 30050
loss = model(idx).square().mean()
scaled = loss * 2
print("loss", scaled.item())  # BLAMED
