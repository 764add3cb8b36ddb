"""Allocates memory through an imitation of PyTorch's allocator until there is none left."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import cuda
import torch
import torch.cuda

cuda.start()
for _ in range(3):
    torch.cuda.allocate(8 << 20)  # HOLDER
torch.cuda.allocate(1 << 50)  # TRUE LINE
