"""A model is captured for several batch sizes in one pool, largest first; each replay is read before the next one.

Pattern: https://github.com/vllm-project/vllm/pull/9724
"""
import torch

layer = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
static = torch.zeros(32, 512, device="cuda")
pool = torch.cuda.graph_pool_handle()
graphs, outputs = {}, {}
with torch.no_grad():
    for size in (32, 16, 8, 4, 2, 1):
        layer(static[:size])
        torch.cuda.synchronize()
        graphs[size] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[size], pool=pool):
            outputs[size] = layer(static[:size])
    for step in range(20):
        size = 1 << step % 6
        batch = torch.randn(size, 512, device="cuda")
        static[:size].copy_(batch)
        graphs[size].replay()
        found = outputs[size].clone()
        assert torch.allclose(found, layer(batch), atol=0.01)
print(found.shape)
