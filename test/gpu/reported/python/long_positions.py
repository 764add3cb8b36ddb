"""A sequence is longer than the table of positions."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(32000, 128)
        self.positions = torch.nn.Embedding(2048, 128)

    def forward(self, ids):
        at = torch.arange(ids.shape[-1], device=ids.device)
        return self.tokens(ids) + self.positions(at)  # LAUNCH


model = Model().cuda()
for length in (2048, 2080):
    model(torch.zeros(4, length, dtype=torch.int64, device="cuda"))  # LAUNCH
    torch.cuda.synchronize()
