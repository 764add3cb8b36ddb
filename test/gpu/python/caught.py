"""One bad batch in a loop that catches every exception and continues."""
import torch

table = torch.zeros(100, 8, device="cuda")
failed = 0
for i in range(10):
    try:
        idx = [i, 100000 if i == 3 else i]
        rows = table[torch.tensor(idx).cuda()]  # TRUE LINE
        rows.sum().item()  # BLAMED
    except RuntimeError:
        failed += 1
print(failed, "steps failed, going on")
