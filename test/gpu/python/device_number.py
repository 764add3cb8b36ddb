"""There are more ranks than GPUs; the last rank requests a device that does not exist."""
import torch

torch.zeros(1, device="cuda")
rank = torch.cuda.device_count()
weights = torch.zeros(16, device=f"cuda:{rank}")  # TRUE LINE
print(weights.sum().item())
