"""A decoder unpools with the indices of a larger image than the one that it makes."""
import torch
import torch.nn.functional as F

image = torch.randn(1, 8, 64, 64, device="cuda")
pooled, indices = F.max_pool2d(image, 2, return_indices=True)
F.max_unpool2d(pooled, indices, 2)
F.max_unpool2d(pooled[..., :16, :16].contiguous(), indices[..., 16:, 16:].contiguous(), 2)  # LAUNCH
torch.cuda.synchronize()
