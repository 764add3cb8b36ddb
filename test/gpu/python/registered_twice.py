"""Staging memory is registered twice: the error is not checked, so the next kernel gets the blame."""
import torch


class Staging:
    def __init__(self, rows):
        self.rows = rows
        self.values = torch.ones(rows, 64)
        self.pin()

    def pin(self):
        size = self.values.numel() * self.values.element_size()
        torch.cuda.cudart().cudaHostRegister(self.values.data_ptr(), size, 0)  # TRUE LINE

    def load(self, step):
        self.values.fill_(step)
        return self.values.cuda(non_blocking=True)


def train(staging, steps):
    weights = torch.zeros(64, device="cuda")
    for step in range(steps):
        if step == 3:
            staging.pin()
        weights = weights + staging.load(step).mean(0)
    return weights


torch.zeros(1, device="cuda")
print(train(Staging(128), 6).sum().item())
