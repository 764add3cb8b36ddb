"""Two streams change the left and the right columns of one matrix: their ranges interleave.

No public report.
"""
import torch

matrix = torch.zeros(128, 96, device="cuda")
left, right = torch.cuda.Stream(), torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(left):
    matrix[:, :40].add_(1)
with torch.cuda.stream(right):
    matrix[:, 40:].add_(2)
torch.cuda.synchronize()
print(matrix.sum().item())
