"""A check that does not wait for the device: the lengths of all requests must fit into the cache."""
import torch

CAPACITY = 4096


def check(lengths):
    torch._assert_async((lengths <= CAPACITY).all(), "a request is longer than the cache")  # LAUNCH


lengths = torch.tensor([17, 300, 4096], device="cuda")
check(lengths)
torch.cuda.synchronize()
lengths += 1
check(lengths)
torch.cuda.synchronize()
