"""A graph's output is deleted, and the next graph of the pool gets its block; results go to static tensors.

Pattern: https://github.com/vllm-project/vllm/pull/9724
"""
import torch

x = torch.zeros(4 << 20, device="cuda")
first_sum, second_sum = torch.zeros((), device="cuda"), torch.zeros((), device="cuda")
(x * 2).sum()
torch.cuda.synchronize()
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    out = x * 2
    torch.sum(out, 0, out=first_sum)
address = out.data_ptr()
del out
with torch.cuda.graph(second, pool=first.pool()):
    out = x * 3
    torch.sum(out, 0, out=second_sum)
print("one block:", out.data_ptr() == address)
del out
for step in range(10):
    x.fill_(step % 4)
    first.replay()
    second.replay()
    eager = torch.full((4 << 20,), -1.0, device="cuda")
    assert second_sum.item() * 2 == first_sum.item() * 3
print(eager[0].item())
