"""Tokens are repeated for their experts; the size of the output was computed from older counts."""
import torch

tokens = torch.randn(1024, 256, device="cuda")
counts = torch.full((1024,), 2, dtype=torch.int64, device="cuda")
received = int(counts.sum())
torch.repeat_interleave(tokens, counts, dim=0, output_size=received)
counts[17] += 1
torch.repeat_interleave(tokens, counts, dim=0, output_size=received)  # LAUNCH
torch.cuda.synchronize()
