"""Two hundred good training steps, then one bad batch."""
import torch

emb = torch.nn.Embedding(100, 16).cuda()
head = torch.nn.Linear(16, 4).cuda()
optimizer = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)


def step(idx):
    y = emb(idx)  # TRUE LINE
    loss = head(y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for i in range(300):
    batch = torch.full((4, 8), i // 2 if i < 200 else i - 90, device="cuda")
    loss = step(batch)
    if i % 50 == 49:
        loss.item()
print("trained")
