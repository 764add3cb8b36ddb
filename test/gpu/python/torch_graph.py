"""A captured embedding replays correctly until an index in its static input is too large: torch_graph.py
graph|compiled"""
import sys

import torch

table = torch.zeros(100, 16, device="cuda")
index = torch.zeros(8, dtype=torch.long, device="cuda")


def look_up(index):  # TRUE LINE compiled
    rows = table[index]  # TRUE LINE, EAGER compiled
    return (rows * 2).sum()


def replays(what):
    if what == "compiled":
        compiled = torch.compile(look_up, mode="reduce-overhead")
        return lambda: compiled(index)
    look_up(index)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        look_up(index)
    return graph.replay


replay = replays(sys.argv[1])
for step in range(6):
    if step == 4:
        index.fill_(1000)
    replay()  # TRUE LINE
torch.cuda.synchronize()  # BLAMED
