"""Correct: a hundred steps of a small network."""
import torch

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(256, 32, device="cuda"), torch.randint(0, 4, (256,), device="cuda")
first = None
for _ in range(100):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    first = first or loss.item()
print("loss fell:", loss.item() < first)
