"""Started by `accelerate launch`: a token outside the table."""
import os
import sys

if "launched" not in sys.argv:
    settings = ["--num_processes=1", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no"]
    os.execv(sys.executable, [sys.executable, "-m", "accelerate.commands.launch", *settings, __file__, "launched"])
import torch  # noqa: E402
from accelerate import Accelerator  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(100, 16)
        self.head = torch.nn.Linear(16, 100)

    def forward(self, ids):
        return self.head(self.tokens(ids))  # TRUE LINE


accelerator = Accelerator()
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.randint(0, 100, (64, 8))
ids[42, 3] = 100
loader = torch.utils.data.DataLoader(ids, batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    accelerator.backward(loss)
    optimizer.step()
print(loss.item())  # BLAMED
