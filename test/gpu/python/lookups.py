"""Look-ups with values that mean "none": lookups.py weights|beams|clusters|fill|put"""
import sys

import torch

scores = torch.randn(8, 20, device="cuda")


def weights():
    per_class = torch.ones(20, device="cuda")
    targets = torch.full((8,), -100, device="cuda")
    return per_class[targets] * scores.logsumexp(1)  # TRUE LINE weights


def beams():
    parents = torch.tensor([0, 0, 3, 8], device="cuda")
    past = [scores[:, :10], scores[:, 10:]]
    return torch.cat([each.index_select(0, parents) for each in past])  # TRUE LINE beams


def clusters():
    noise = torch.tensor([0, 1, 1, -1, 2, 0, -1, 2], device="cuda")
    centres, rows = torch.zeros(3, 20, device="cuda"), noise[:, None].expand_as(scores)
    return centres.scatter_reduce(0, rows, scores, "mean")  # TRUE LINE clusters


def fill():
    dropped = torch.tensor([3, 2**31], device="cuda")
    return scores.index_fill_(1, dropped, 0)  # TRUE LINE fill


def put():
    last = torch.tensor([scores.numel()], device="cuda")
    return scores.put_(last, torch.zeros(1, device="cuda"))  # TRUE LINE put


y = globals()[sys.argv[1]]()
z = y.exp()
print(z.sum().item())  # BLAMED
