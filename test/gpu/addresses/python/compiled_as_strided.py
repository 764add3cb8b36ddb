"""torch.as_strided goes past the storage; a compiled function does not check."""
import torch

from here import or_skip


@torch.compile
def windows(x, rows):
    doubled = x * 2
    return torch.as_strided(doubled, (rows, 64), (x.shape[0], 1)) + 1  # LAUNCH


x = torch.ones(16 << 20, device="cuda")
or_skip(lambda: (windows(x, 1), torch.cuda.synchronize()))
windows(x, 4096)  # LAUNCH
torch.cuda.synchronize()
