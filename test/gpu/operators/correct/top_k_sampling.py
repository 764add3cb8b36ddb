"""Sampling from the k best tokens: the logits of all others are minus infinity."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def keep_best(logits, k):
    limit = logits.topk(k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < limit, float("-inf"))


torch.manual_seed(0)
logits = torch.randn(3, 20).to(DEVICE)
probs = torch.softmax(keep_best(logits, 4) / 0.7, dim=-1)
tokens = torch.multinomial(probs, num_samples=1)
log_p = torch.log(probs.gather(1, tokens))
print(tokens.shape, log_p.isfinite().all().item())
