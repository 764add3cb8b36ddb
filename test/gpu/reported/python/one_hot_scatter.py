"""A matrix of ones and zeros is made with scatter; one class is outside of its columns."""
import torch

classes = torch.arange(4096, device="cuda") % 100
marks = torch.zeros(4096, 100, device="cuda")
marks.scatter_(1, classes[:, None], 1.0)
classes[99] = 100
marks.scatter_(1, classes[:, None], 1.0)  # LAUNCH
torch.cuda.synchronize()
