"""Times a step of training or inference.

training_step.py launch_bound|compute_bound|graphed|inference [profiler | anomaly] [serve | switch] prints the median ms
of its steps: of training, of its replay as a CUDA graph, or of inference. With profiler, the steps run under
torch.profiler, and with anomaly, in PyTorch's anomaly mode. With serve, it prepares once, prints that it is ready, and
then prints a median of further steps for each line of input. With switch, half of the steps run with a subscriber's
callbacks (switched_cupti.cc) or the recorder's wrappers (switched_hooks.cc), and half without. It then prints the
median ratio of the two, and its 95 % interval.
"""

import contextlib
import ctypes
import os
import random
import statistics
import sys
import time

import torch

SHAPES = {  # layers, width, batch, tokens, warm-up steps, steps
    "launch_bound": (4, 64, 4, 16, 20, 50),
    "compute_bound": (12, 2048, 8, 1024, 3, 5),
    "graphed": (4, 64, 4, 16, 20, 200),
    "inference": (12, 512, 1, 16, 20, 100),
}
SWITCHED_PAIRS = {"launch_bound": 300, "compute_bound": 60, "inference": 300}


def train(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


def capture(step):
    """Captures the step. Returns a function that replays it as a CUDA graph."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def infer(model, _, x):
    with torch.inference_mode():
        model(x)


def prepare(name):
    """Returns the step to measure, the number of warm-up steps, and the number of steps to take the median of."""
    layers, width, batch, tokens, warm_up, steps = SHAPES[name]
    if "CUDADIAG_BENCH_STEPS" in os.environ:  # for tools that would take minutes
        warm_up, steps = 1, int(os.environ["CUDADIAG_BENCH_STEPS"])
    step = infer if name == "inference" else train
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(batch, tokens, width, device="cuda", dtype=torch.bfloat16)
    model.train(step is train)
    one = lambda: step(model, optimizer, x)  # noqa: E731
    return capture(one) if name == "graphed" else one, warm_up, steps


def times(step, steps):
    found = []
    for _ in range(steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) * 1e3)
    return found


def interval(values):
    """Returns the 95 % interval of a median, from the ranks between which a sample's median may lie."""
    ranked, half = sorted(values), 0.98 * len(values) ** 0.5
    middle = len(ranked) / 2
    return ranked[max(0, int(middle - half))], ranked[min(len(ranked) - 1, int(middle + half))]


def switched_ratio(step, pairs):
    """Returns the ratios of neighbouring steps: the time with a subscriber's callbacks or the wrappers, divided by the
    time without."""
    switch = ctypes.CDLL(None).switch_callbacks  # from the preloaded library
    ratios = []
    for _ in range(pairs):
        ms = {}
        for on in random.sample((0, 1), 2):
            switch(on)
            ms[on] = times(step, 2)[1]  # warm-up: switching has evicted data from the caches
        ratios.append(ms[1] / ms[0])
    return ratios


def main(name, *how):
    step, warm_up, steps = prepare(name)
    torch.autograd.set_detect_anomaly("anomaly" in how)
    times(step, warm_up)
    if "switch" in how:
        ratios = switched_ratio(step, SWITCHED_PAIRS[name])
        low, high = interval(ratios)
        print(f"ratio {statistics.median(ratios):.4f} {low:.4f} {high:.4f}")
        return
    if "serve" in how:
        print("ready", flush=True)
    for _ in sys.stdin if "serve" in how else [""]:
        with torch.profiler.profile() if "profiler" in how else contextlib.nullcontext():
            found = times(step, steps)
        print(f"median {statistics.median(found):.4f}", flush=True)


main(*sys.argv[1:])
