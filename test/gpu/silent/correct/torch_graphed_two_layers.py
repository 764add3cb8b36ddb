"""Two layers are graphed together, which shares a pool, and trained beside an ordinary head.

Pattern: https://github.com/NVIDIA/TransformerEngine/pull/575
"""
import torch

first = torch.nn.Linear(128, 256, device="cuda")
second = torch.nn.Linear(256, 128, device="cuda")
head = torch.nn.Linear(128, 1, device="cuda")
samples = (torch.randn(32, 128, device="cuda"),), (torch.randn(32, 256, device="cuda", requires_grad=True),)
first_graphed, second_graphed = torch.cuda.make_graphed_callables((first, second), samples)
del samples
parameters = [*first.parameters(), *second.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.01)
losses = []
torch.manual_seed(0)
batch = torch.randn(32, 128, device="cuda")
for step in range(30):
    optimizer.zero_grad(set_to_none=True)
    hidden = first_graphed(batch).relu()
    loss = (head(second_graphed(hidden)) - 1).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
print(losses[0], losses[-1])
