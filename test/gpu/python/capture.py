"""Correct: one thread captures and replays a graph while another launches into a different stream."""
import threading

import torch

x, y, other = (torch.zeros(1024, device="cuda") for _ in range(3))
side = torch.cuda.Stream()
x.add_(1)
other.add_(1)
torch.cuda.synchronize()
stop = threading.Event()


def launch():
    with torch.cuda.stream(side):
        for _ in range(20000):
            other.add_(1)
            if stop.is_set():
                break


thread = threading.Thread(target=launch)
thread.start()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for _ in range(50):
        x.add_(1)
        y.add_(x)
for _ in range(20):
    graph.replay()
stop.set()
thread.join()
torch.cuda.synchronize()
print(x[0].item(), y[0].item())
