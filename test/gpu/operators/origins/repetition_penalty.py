"""A penalty for repeated tokens is subtracted from probabilities instead of logits."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def penalise(probs, history, penalty):
    for row, seen in enumerate(history):
        distribution = probs[row]
        distribution[seen] -= penalty


torch.manual_seed(0)
logits = torch.log(torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], device=DEVICE))
probs = torch.softmax(logits, dim=-1)
penalise(probs, [[2], [1]], penalty=0.5)
tokens = torch.multinomial(probs, num_samples=1)
print(tokens.shape)
