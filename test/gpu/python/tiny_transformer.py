"""Under autocast, a sequence longer than the table of positions, or a token outside the table of tokens:
positions|tokens"""
import sys

import torch


class Tiny(torch.nn.Module):
    def __init__(self, context=64, width=32):
        super().__init__()
        self.tokens = torch.nn.Embedding(1000, width)
        self.position_embedding = torch.nn.Embedding(context, width)
        self.block = torch.nn.TransformerEncoderLayer(width, 4, 64, batch_first=True)
        self.head = torch.nn.Linear(width, 1000)

    def forward(self, ids):
        steps = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.position_embedding(steps)  # TRUE LINE
        return self.head(self.block(x))


model = Tiny().cuda()
for length in (32, 64, 96 if sys.argv[1] == "positions" else 48):
    ids = torch.randint(0, 1000, (4, length), device="cuda")
    ids[0, 5] = 1000 if length == 48 else 0
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(ids)
        loss = logits.float().logsumexp(-1).mean()
    loss.backward()
print(loss.item())  # BLAMED
