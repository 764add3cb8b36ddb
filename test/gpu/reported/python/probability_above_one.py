"""A mask is sampled with probabilities that are scaled afterwards, so that some are larger than one."""
import torch

probabilities = torch.rand(1 << 16, device="cuda")
torch.bernoulli(probabilities)
torch.bernoulli(probabilities * 1.2)  # LAUNCH
torch.cuda.synchronize()
