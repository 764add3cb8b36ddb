"""The results of experts are added to the tokens they came from; padded rows have the number of tokens as a marker."""
import torch


def combine(out, tokens, rows):
    out.index_add_(0, tokens, rows)  # LAUNCH
    return out


out = torch.zeros(64, 128, device="cuda")
rows = torch.ones(96, 128, device="cuda")
tokens = torch.arange(96, device="cuda") % 64
combine(out, tokens, rows)
torch.cuda.synchronize()
tokens[80:] = 64
combine(out, tokens, rows)
torch.cuda.synchronize()
