"""A compiled model is trained in the mode reduce-overhead; graphs of both passes form one tree.

Pattern: https://github.com/pytorch/pytorch/pull/184091
"""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 1)).cuda()
compiled = torch.compile(model, mode="reduce-overhead")
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
batch = torch.randn(64, 128, device="cuda")
losses = []
for step in range(15):
    torch.compiler.cudagraph_mark_step_begin()
    optimizer.zero_grad(set_to_none=True)
    loss = (compiled(batch) - 1).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
print(losses[0], losses[-1])
