"""Nested modules; a hook that the innermost one calls selects a column that does not exist."""
import torch

columns = torch.tensor([0, 3, 4096], device="cuda")


def pick(module, inputs, output):
    return output.index_select(1, columns)  # TRUE LINE


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())
        self.inner[1].register_forward_hook(pick)

    def forward(self, x):
        return self.inner(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


y = Model().cuda()(torch.randn(8, 16, device="cuda"))
z = y * 2
print(z.sum().item())  # BLAMED
