"""Captures that something breaks: broken_capture.py item|thread|given_up. In the last case, the program then works
without a graph."""
import sys
import threading

import torch

kind = sys.argv[1]
x = torch.zeros(1024, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    x.add_(1)
torch.cuda.synchronize()


def load():
    try:
        torch.empty(1 << 30, dtype=torch.uint8, device="cuda")  # TRUE LINE thread
    except RuntimeError:
        print("no memory for now")


def step():
    x.add_(1)
    if kind != "thread":
        return x.sum().item()  # TRUE LINE item
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    return 0


def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # CAPTURE, BLAMED
        step()
    return graph.replay


try:
    run = capture()
except RuntimeError:
    if kind != "given_up":
        raise
    run = step
run()
torch.cuda.synchronize()
print("sum", x.sum().item())
