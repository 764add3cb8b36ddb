"""A compiled model in the mode reduce-overhead gets new input tensors, some of them at recycled addresses.

Pattern: https://github.com/huggingface/peft/pull/2611
"""
import torch

layer = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)).cuda()
compiled = torch.compile(layer, mode="reduce-overhead")
with torch.no_grad():
    for step in range(12):
        batch = torch.randn(32, 256, device="cuda")
        out = compiled(batch).clone()
        assert torch.allclose(out, layer(batch), atol=0.01)
        del batch
        between = torch.full((32, 256), 1000.0, device="cuda")
        if step % 3 == 0:
            del between
print(out.shape)
