"""A tensor of the main stream is read on a side stream and dropped; record_stream keeps its memory until then.

Pattern: https://github.com/meta-pytorch/torchrec/pull/4231
"""
import torch

side = torch.cuda.Stream()
results = []
for step in range(4):
    batch = torch.full((1 << 18,), float(step), device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        results.append(batch.sum())
    batch.record_stream(side)
    del batch
    torch.zeros(1 << 18, device="cuda")
torch.cuda.current_stream().wait_stream(side)
print(torch.stack(results).sum().item())
