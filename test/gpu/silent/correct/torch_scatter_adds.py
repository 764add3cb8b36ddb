"""Two streams add rows into one table by index_add_; an event keeps them in order.

No public report.
"""
import torch

table = torch.zeros(100, 32, device="cuda")
ids = [torch.randint(0, 100, (500,), device="cuda") for _ in range(2)]
rows = torch.ones(500, 32, device="cuda")
first, second = torch.cuda.Stream(), torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(first):
    table.index_add_(0, ids[0], rows)
second.wait_event(first.record_event())
with torch.cuda.stream(second):
    table.index_add_(0, ids[1], rows)
torch.cuda.synchronize()
print(table.sum().item())
