"""A kernel on a side stream is stuck for 8 s while training steps run on the main stream, and nothing waits for it.

Related: https://github.com/pytorch/pytorch/issues/172668
"""
import time

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
side = torch.cuda.Stream()


def step():
    optimizer.zero_grad()
    loss = model(torch.ones(64, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.cuda._sleep(200_000_000)
step()
torch.cuda.synchronize()
with torch.cuda.stream(side):
    torch.cuda._sleep(15_000_000_000)  # STUCK
end = time.monotonic() + 9
while time.monotonic() < end:
    step()
    time.sleep(0.02)
torch.cuda.synchronize()
