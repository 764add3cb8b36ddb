"""Losses are kept with everything that they reference, until the GPU is full."""
import torch

BYTES = torch.cuda.mem_get_info()[0] // 9 * 2  # leaves some memory for other programs when there are four
scale = torch.ones(1, device="cuda", requires_grad=True)
history = []


def step():
    x = torch.empty(BYTES // 4, device="cuda")
    return (x * scale).pow(2)[:1]  # TRUE LINE


for _ in range(8):
    history.append(step())
print(sum(history).item())
