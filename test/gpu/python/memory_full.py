"""The GPU is full, and PyTorch's allocator raises an exception that is not handled."""
import torch

free = torch.cuda.mem_get_info()[0]
half = torch.empty(free // 2, dtype=torch.uint8, device="cuda")  # HOLDER
quarter = torch.empty(free // 4, dtype=torch.uint8, device="cuda")  # HOLDER
torch.empty(free // 2, dtype=torch.uint8, device="cuda")  # TRUE LINE
print("never")
