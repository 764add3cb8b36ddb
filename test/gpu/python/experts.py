"""A mixture of experts whose last expert ends after the last token."""
import sys

import torch

if not hasattr(torch, "_grouped_mm") or torch.cuda.get_device_capability()[0] < 9:
    print("no grouped matrix product here", file=sys.stderr)
    sys.exit(77)
tokens = torch.randn(64, 32, device="cuda", dtype=torch.bfloat16)
experts = torch.randn(4, 48, 32, device="cuda", dtype=torch.bfloat16)
ends = torch.tensor([16, 32, 48, 80], device="cuda", dtype=torch.int32)
y = torch._grouped_mm(tokens, experts.transpose(-2, -1), offs=ends)  # TRUE LINE
print(y.float().sum().item())  # BLAMED
