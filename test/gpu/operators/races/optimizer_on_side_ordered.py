"""The optimizer runs on a side stream and waits for the gradients."""

import torch
from torch import nn

from streams import DEVICE, Stream, current_stream, stream, synchronize

model = nn.Linear(64, 1, bias=False).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(8, 64, device=DEVICE)
side = Stream()
synchronize()

loss = model(x).mean()
loss.backward()
side.wait_stream(current_stream())
with stream(side):
    optimizer.step()
synchronize()
print(loss.item())
