"""Activations go to pinned memory and come back on a copy stream, with an event in each direction.

Pattern: https://github.com/ROCm/pytorch/issues/3194 (corrected)
"""
import torch

copying = torch.cuda.Stream()
host = torch.empty(1 << 18, pin_memory=True)
activation = torch.randn(1 << 18, device="cuda")
back = torch.empty_like(activation)
main = torch.cuda.current_stream()
copying.wait_stream(main)
with torch.cuda.stream(copying):
    host.copy_(activation, non_blocking=True)
    offloaded = copying.record_event()
main.wait_event(offloaded)
activation.zero_()
with torch.cuda.stream(copying):
    back.copy_(host, non_blocking=True)
main.wait_stream(copying)
print(back.sum().item(), activation.sum().item())
