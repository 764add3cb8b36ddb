"""The buffer of a bag's indices gets the next batch, which is not checked yet, before the gradient is computed."""
import torch

from here import or_skip

table = torch.rand(4096, 256, device="cuda")  # ALLOC
offsets = torch.arange(0, 4096, 64, device="cuda")
indices = torch.arange(4096, device="cuda")
weights = torch.ones(4096, device="cuda", requires_grad=True)


def train(next_batch):
    bags = torch.nn.functional.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights)
    loss = bags.sum()
    torch.cuda.synchronize()
    indices.data.copy_(next_batch)
    torch.cuda.synchronize()
    loss.backward()  # LAUNCH
    torch.cuda.synchronize()


good, bad = torch.arange(4096, device="cuda"), torch.full((4096,), 1 << 24, device="cuda")
or_skip(lambda: train(good))
train(bad)
