"""A step timed inside: training_step.py launch_bound|compute_bound|inference [profiler | serve] prints the median ms of
its own steps, of training or of inference; under torch.profiler with the word profiler. With serve, does so once for
each line on its standard input, every time in a new process forked before CUDA was touched: PyTorch is loaded once."""

import contextlib
import os
import statistics
import sys
import time

import torch

SHAPES = {  # layers, width, batch, tokens, warm-up steps, steps
    "launch_bound": (4, 64, 4, 16, 20, 100),
    "compute_bound": (12, 2048, 8, 1024, 3, 15),
    "inference": (12, 512, 1, 16, 20, 200),
}


def train(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


def infer(model, _, x):
    with torch.inference_mode():
        model(x)


def measure():
    layers, width, batch, tokens, warm_up, steps = SHAPES[sys.argv[1]]
    if "CUDADIAG_BENCH_STEPS" in os.environ:  # for tools that take minutes
        warm_up, steps = 1, int(os.environ["CUDADIAG_BENCH_STEPS"])
    step = infer if sys.argv[1] == "inference" else train
    profiler = torch.profiler.profile() if "profiler" in sys.argv[2:] else contextlib.nullcontext()
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(batch, tokens, width, device="cuda", dtype=torch.bfloat16)
    times = []
    model.train(step is train)
    with profiler:
        for _ in range(warm_up + steps):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step(model, optimizer, x)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
    print(f"median {statistics.median(times[warm_up:]):.4f}", flush=True)


def serve():
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            measure()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            print("failed", flush=True)


serve() if "serve" in sys.argv[2:] else measure()
