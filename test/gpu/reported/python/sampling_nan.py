"""Sampling from probabilities that are not numbers, because all scores of one row were masked."""
import torch

scores = torch.randn(8, 32000, device="cuda")
torch.multinomial(torch.softmax(scores, dim=-1), 1)
scores[3] = float("-inf")
torch.multinomial(torch.softmax(scores, dim=-1), 1)  # LAUNCH
torch.cuda.synchronize()
