"""A whole training step with Adam is captured; its static batch and targets are rewritten before each replay.

Pattern: https://github.com/pytorch/pytorch/pull/77862
"""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001, capturable=True)
batch, target = torch.zeros(256, 64, device="cuda"), torch.zeros(256, 1, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = (model(batch) - target).square().mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()
losses = []
for _ in range(100):
    batch.copy_(torch.randn(256, 64, device="cuda"))
    target.copy_(batch.mean(1, keepdim=True))
    graph.replay()
    losses.append(loss.item())
assert sum(losses[-10:]) < sum(losses[:10])
print(losses[0], losses[-1])
