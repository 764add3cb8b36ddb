"""Each request's tensors are copied into static ones before the replay; requests use recycled blocks.

Pattern: https://github.com/vllm-project/vllm-ascend/pull/7473
"""
import torch


class Runner:
    def __init__(self, longest):
        self.ids = torch.zeros(longest, dtype=torch.int64, device="cuda")
        self.scale = torch.ones((), device="cuda")
        self.table = torch.arange(1 << 20, dtype=torch.float32, device="cuda")
        self.table.index_select(0, self.ids) * self.scale
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.table.index_select(0, self.ids) * self.scale

    def run(self, ids, scale):
        self.ids[:len(ids)].copy_(ids)
        self.scale.fill_(scale)
        self.graph.replay()
        return self.out[:len(ids)].clone()


runner = Runner(2 << 20)
for step in range(10):
    ids = torch.full(((1 + step % 2) << 20,), step * 100, device="cuda")
    result = runner.run(ids, 0.5)
    del ids
    assert result[-1].item() == step * 50
print(result.numel())
