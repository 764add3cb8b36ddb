"""More ranks than GPUs: the last one asks for a device that is not there."""
import torch

torch.zeros(1, device="cuda")
rank = torch.cuda.device_count()
weights = torch.zeros(16, device=f"cuda:{rank}")  # TRUE LINE
print(weights.sum().item())
