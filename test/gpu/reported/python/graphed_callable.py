"""Correct: training with a layer whose forward and backward passes are graphs, beside ordinary layers."""
import torch

from here import or_skip

layer = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh()).cuda()
head = torch.nn.Linear(256, 10, device="cuda")
graphed = or_skip(lambda: torch.cuda.make_graphed_callables(layer, (torch.randn(64, 256, device="cuda"),)))
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], 0.1)
for _ in range(10):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(head(graphed(torch.randn(64, 256, device="cuda"))),
                                             torch.randint(10, (64,), device="cuda"))
    loss.backward()
    optimizer.step()
    assert loss.isfinite().item()
