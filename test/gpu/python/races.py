"""Tensors on two streams, `races.py WHICH [fixed]`: without and with an order; those in CORRECT have no race."""

import sys

import torch

N = 1 << 20
CORRECT = {"disjoint_slices", "loader", "training", "backward_on_side_stream", "two_readers",
           "two_products"}


def tensor(value=0.0):
    return torch.full((N,), float(value), device="cuda")


def main(which, fixed):
    default, side, third = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    x, y = tensor(1), tensor(2)
    torch.cuda.synchronize()
    globals()[which](default, side, third, x, y, fixed)
    torch.cuda.synchronize()
    print("done")


def write_then_read(default, side, third, x, y, fixed):
    x.fill_(3)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        x.sum()


def in_place_twice(default, side, third, x, y, fixed):
    x.add_(1)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        x.mul_(2)


def read_then_write(default, side, third, x, y, fixed):
    with torch.cuda.stream(side):
        z = x + y
    if fixed:
        default.wait_stream(side)
    x.zero_()
    return z


def event_too_early(default, side, third, x, y, fixed):
    event = torch.cuda.Event()
    if not fixed:
        event.record(default)
    x.fill_(3)
    if fixed:
        event.record(default)
    side.wait_event(event)
    with torch.cuda.stream(side):
        x.mul_(2)


def event_of_another_life(default, side, third, x, y, fixed):
    event = torch.cuda.Event()
    x.fill_(3)
    event.record(default)
    if not fixed:
        del event
        event = torch.cuda.Event()
    side.wait_event(event)
    with torch.cuda.stream(side):
        x.mul_(2)


def event_recorded_again(default, side, third, x, y, fixed):
    event = torch.cuda.Event()
    x.fill_(3)
    event.record(default)
    if not fixed:
        event.record(third)
    side.wait_event(event)
    with torch.cuda.stream(side):
        x.mul_(2)


def all_readers(default, side, third, x, y, fixed):
    for stream in (side, third):
        with torch.cuda.stream(stream):
            x.sum()
    default.wait_stream(side)
    if fixed:
        default.wait_stream(third)
    x.zero_()


def chain(default, side, third, x, y, fixed):
    x.fill_(3)
    if fixed:
        side.wait_stream(default)
    third.wait_stream(side)
    with torch.cuda.stream(third):
        x.mul_(2)


def device_synchronize(default, side, third, x, y, fixed):
    x.fill_(3)
    if fixed:
        torch.cuda.synchronize()
    with torch.cuda.stream(side):
        x.mul_(2)


def stream_synchronize(default, side, third, x, y, fixed):
    x.fill_(3)
    (default if fixed else third).synchronize()
    with torch.cuda.stream(side):
        x.mul_(2)


def event_synchronize(default, side, third, x, y, fixed):
    event = torch.cuda.Event()
    if not fixed:
        event.record(default)
    x.fill_(3)
    if fixed:
        event.record(default)
    event.synchronize()
    with torch.cuda.stream(side):
        x.mul_(2)


def reused_memory(default, side, third, x, y, fixed):
    temporary = torch.ones(N, device="cuda")
    side.wait_stream(default)
    with torch.cuda.stream(side):
        for _ in range(3):
            y.add_(temporary)
    if fixed:
        temporary.record_stream(side)
    del temporary
    torch.zeros(N, device="cuda")


def copy_to_device(default, side, third, x, y, fixed):
    host = torch.ones(N, pin_memory=True)
    with torch.cuda.stream(side):
        x.copy_(host, non_blocking=True)
    if fixed:
        default.wait_stream(side)
    x.mul(2)


def copy_to_host(default, side, third, x, y, fixed):
    host = torch.empty(N, pin_memory=True)
    side.wait_stream(default)
    with torch.cuda.stream(side):
        host.copy_(x, non_blocking=True)
    if fixed:
        default.wait_stream(side)
    x.zero_()


def matrix_product(default, side, third, x, y, fixed):
    a, b, c = (torch.ones(1024, 1024, device="cuda") for _ in range(3))
    torch.mm(a, b)
    torch.cuda.synchronize()
    torch.mm(a, b, out=c)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        c.add_(1)


def matrix_product_bf16(default, side, third, x, y, fixed):
    a, b = (torch.ones(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    torch.mm(a, b)
    torch.cuda.synchronize()
    product = torch.mm(a, b)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        product.add_(1)
    torch.cuda.synchronize()


def matrix_input_bf16(default, side, third, x, y, fixed):
    a, b = (torch.ones(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    torch.mm(a, b)
    torch.cuda.synchronize()
    product = torch.mm(a, b)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        b.zero_()
    return product


def matrix_product_fp8(default, side, third, x, y, fixed):
    a, b = (torch.ones(1024, 1024, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    scale = torch.ones((), device="cuda")
    torch._scaled_mm(a, b.t(), scale, scale, out_dtype=torch.bfloat16)
    torch.cuda.synchronize()
    product = torch._scaled_mm(a, b.t(), scale, scale, out_dtype=torch.bfloat16)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        product.clone()
    torch.cuda.synchronize()


def flash_attention(default, side, third, x, y, fixed):
    heads = torch.ones(4, 8, 512, 64, device="cuda", dtype=torch.bfloat16)
    attend = torch.nn.functional.scaled_dot_product_attention
    attend(heads, heads, heads, is_causal=True)
    torch.cuda.synchronize()
    out = attend(heads, heads, heads, is_causal=True)
    if fixed:
        side.wait_stream(default)
    with torch.cuda.stream(side):
        out.mul_(2)
    torch.cuda.synchronize()


def graph_input(default, side, third, x, y, fixed):
    graph, warm = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(warm):
        y.copy_(x * 2)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y.copy_(x * 2)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        x.fill_(5)
    if fixed:
        default.wait_stream(side)
    graph.replay()


def buckets(default, side, third, x, y, fixed):
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).cuda()
    torch.cuda.synchronize()
    model(torch.ones(64, 256, device="cuda")).sum().backward()
    bucket = torch.zeros(sum(p.numel() for p in model.parameters()), device="cuda")
    side.wait_stream(default)
    with torch.cuda.stream(side):
        at = 0
        for parameter in model.parameters():
            bucket[at:at + parameter.numel()].copy_(parameter.grad.view(-1))
            at += parameter.numel()
    if fixed:
        default.wait_stream(side)
    for parameter in model.parameters():
        parameter.grad.zero_()


# ---- correct as they are


def two_readers(default, side, third, x, y, fixed):
    x.sum()
    with torch.cuda.stream(side):
        x.sum()


def two_products(default, side, third, x, y, fixed):
    a, b = (torch.ones(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    torch.mm(a, b)
    torch.cuda.synchronize()
    first = torch.mm(a, b)
    with torch.cuda.stream(side):
        second = torch.mm(a, b)
    torch.cuda.synchronize()
    return first, second


def disjoint_slices(default, side, third, x, y, fixed):
    x[:N // 2].fill_(1)
    with torch.cuda.stream(side):
        x[N // 2:].fill_(2)


def loader(default, side, third, x, y, fixed):
    data = torch.utils.data.TensorDataset(torch.arange(4096.0).view(64, 64))
    total = torch.zeros(64, device="cuda")
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True):
        total += batch.to("cuda", non_blocking=True).sum(0)


def training(default, side, third, x, y, fixed):
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.randn(64, 256, device="cuda")).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def backward_on_side_stream(default, side, third, x, y, fixed):
    x.requires_grad_()
    side.wait_stream(default)
    with torch.cuda.stream(side):
        loss = (x * y).sum()
    default.wait_stream(side)
    loss.backward()
    x.grad.add_(1)


if __name__ == "__main__":
    main(sys.argv[1], "fixed" in sys.argv[2:])
