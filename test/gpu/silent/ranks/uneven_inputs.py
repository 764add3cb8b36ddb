"""Data-parallel training with uneven inputs: rank 1 has one batch fewer and waits on the host for its next epoch.

Report: https://github.com/pytorch/pytorch/issues/38174
"""
import time

import torch
from torch.nn.parallel import DistributedDataParallel

from ranks import end_after, join

rank = join(60)
model = DistributedDataParallel(torch.nn.Linear(256, 256).cuda(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
end_after(9)  # the model alone takes several seconds
for step in range(6 if rank == 0 else 5):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 256, device="cuda")).square().mean()
    loss.backward()  # STUCK
    optimizer.step()
    print(step, loss.item(), flush=True)  # WAITS
    if step == 4 and rank == 1:
        time.sleep(60)  # ABSENT
torch.cuda.synchronize()
