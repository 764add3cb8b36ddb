"""Large matrix products are queued for about ten seconds before the host asks for the result.

No public report.
"""
import time

import torch

a = torch.randn(8192, 8192, device="cuda")
b = torch.randn(8192, 8192, device="cuda") / 100
torch.cuda.synchronize()
start = time.monotonic()
product = a @ b
torch.cuda.synchronize()
seconds = time.monotonic() - start
for _ in range(min(2000, int(10 / max(seconds, 0.001)))):
    product = (product @ b).clamp_(-1, 1)
print(product.sum().isfinite().item())
