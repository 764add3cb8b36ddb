"""Each of PyTorch's operators, with its result read on a stream that did not wait for it: `operators.py [fixed]
[NAME...]`.

Each operator is recognised by its line in the table. The operators in WAITS_ITSELF leave nothing to wait for: the host
sees them finish, because it checks whether they failed or how large the result is.
"""

import sys

import torch
import torch.nn.functional as F

aten = torch.ops.aten
DEVICE = "cuda"


def tensor(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEVICE).to(dtype)


def whole(high, *shape, dtype=torch.int64):
    return torch.randint(0, high, shape, device=DEVICE, dtype=dtype)


BF16, FP16, FP8 = torch.bfloat16, torch.float16, torch.float8_e4m3fn
N = 1024
a, b, c, line = tensor(N, N), tensor(N, N), tensor(N, N), tensor(1 << 20)
a16, b16, ah, bh, a8, b8 = a.to(BF16), b.to(BF16), a.to(FP16), b.to(FP16), a.to(FP8), b.to(FP8)
ai, bi = whole(9, N, N, dtype=torch.int8), whole(9, N, N, dtype=torch.int8)
one = torch.ones((), device=DEVICE)
some, rows, mask = whole(N, 4096), whole(N, 4, N), line > 0
image, filters = tensor(8, 64, 56, 56), tensor(64, 64, 3, 3)
image16, filters16 = image.to(BF16), filters.to(BF16)
last16, last_filters16 = (each.to(memory_format=torch.channels_last) for each in (image16, filters16))
heads, heads16 = tensor(4, 8, 512, 64), tensor(4, 8, 512, 64, dtype=BF16)
batch16, batch = heads16.flatten(0, 1), heads.flatten(0, 1)
sequence = tensor(16, 8, 128)
parts = [tensor(1000) for _ in range(20)]
sparse = torch.eye(N, device=DEVICE).to_sparse()
positive = a @ a.t() + 1e4 * torch.eye(N, device=DEVICE)
embedding, layer_norm = torch.nn.Embedding(N, 256).to(DEVICE), torch.nn.LayerNorm(N).to(DEVICE)
batch_norm, lstm = torch.nn.BatchNorm2d(64).to(DEVICE), torch.nn.LSTM(128, 128).to(DEVICE)


OPERATORS = {
    # matrix products
    "mm": lambda: torch.mm(a, b),
    "mm_bf16": lambda: torch.mm(a16, b16),
    "mm_fp16": lambda: torch.mm(ah, bh),
    "mm_small_bf16": lambda: a16[:8] @ b16,
    "mm_odd_bf16": lambda: a16[:1000, :1000] @ b16[:1000, :1000],
    "mm_int8": lambda: torch._int_mm(ai, bi),
    "mm_fp8": lambda: torch._scaled_mm(a8, b8.t(), one, one, out_dtype=BF16),
    "mv": lambda: a @ line[:N],
    "linear_bf16": lambda: F.linear(a16, b16, a16[0]),
    "linear_gelu_bf16": lambda: F.gelu(F.linear(a16, b16, a16[0])),
    "addmm_bf16": lambda: torch.addmm(a16, a16, b16),
    "bmm": lambda: torch.bmm(batch, batch.transpose(1, 2)),
    "bmm_bf16": lambda: torch.bmm(batch16, batch16.transpose(1, 2)),
    "einsum_bf16": lambda: torch.einsum("ij,kj->ik", a16, b16),
    "sparse_mm": lambda: torch.sparse.mm(sparse, a),
    "cdist": lambda: torch.cdist(a, b),
    # attention
    "attention_bf16": lambda: F.scaled_dot_product_attention(heads16, heads16, heads16, is_causal=True),
    "attention_flash": lambda: aten._scaled_dot_product_flash_attention(*[heads16] * 3, 0.0, True)[0],
    "attention_cudnn": lambda: aten._scaled_dot_product_cudnn_attention(*[heads16] * 3, None, False, 0.0, True)[0],
    "attention_efficient": lambda: aten._scaled_dot_product_efficient_attention(*[heads] * 3, None, False)[0],
    # convolutions, recurrences, pools
    "conv": lambda: F.conv2d(image, filters, padding=1),
    "conv_bf16": lambda: F.conv2d(image16, filters16, padding=1),
    "conv_channels_last_bf16": lambda: F.conv2d(last16, last_filters16, padding=1),
    "lstm": lambda: lstm(sequence)[0],
    "max_pool": lambda: F.max_pool2d(image, 2),
    "average_pool": lambda: F.adaptive_avg_pool2d(image, 1),
    "interpolate": lambda: F.interpolate(image, scale_factor=2, mode="bilinear"),
    # normalisations, activations, losses
    "layer_norm": lambda: layer_norm(a),
    "batch_norm": lambda: batch_norm(image),
    "group_norm": lambda: F.group_norm(image, 8),
    "softmax": lambda: torch.softmax(a, -1),
    "log_softmax": lambda: torch.log_softmax(a, 0),
    "gelu": lambda: F.gelu(a16),
    "dropout": lambda: F.dropout(line, 0.5),
    "cross_entropy": lambda: F.cross_entropy(a, some[:N]),
    # elementwise
    "add": lambda: line + 1,
    "divide_whole": lambda: some // 7,
    "addcmul": lambda: torch.addcmul(a, b, c),
    "where": lambda: torch.where(mask, line, 0.0),
    "masked_fill": lambda: line.masked_fill(mask, 0.0),
    "cast": lambda: a.to(BF16),
    "foreach_add": lambda: torch._foreach_add(parts, 1.0)[7],
    "foreach_mul_": lambda: (torch._foreach_mul_(parts, 1.0), parts[7])[1],
    # reductions and scans
    "sum": lambda: line.sum(),
    "sum_rows": lambda: a.sum(1),
    "mean_columns": lambda: a.mean(0),
    "argmax": lambda: a.argmax(1),
    "max": lambda: a.max(1).values,
    "cumsum": lambda: line.cumsum(0),
    "cumsum_rows": lambda: a.cumsum(1),
    "histogram": lambda: torch.histc(line),
    "bincount": lambda: torch.bincount(some),
    # sorting
    "sort": lambda: line.sort().values,
    "sort_rows": lambda: a.sort(1).values,
    "topk": lambda: a.topk(5).values,
    "unique": lambda: some.unique(),
    # indices
    "index_select": lambda: a.index_select(0, some),
    "gather": lambda: a.gather(0, rows),
    "scatter": lambda: torch.zeros(N, N, device=DEVICE).scatter(0, rows, a[:4]),
    "scatter_add": lambda: torch.zeros(N, N, device=DEVICE).scatter_add_(0, rows, a[:4]),
    "index_add": lambda: torch.zeros(N, N, device=DEVICE).index_add_(0, some, tensor(4096, N)),
    "index_put": lambda: torch.zeros(N, N, device=DEVICE).index_put_((some,), a[0]),
    "take_rows": lambda: a[some],
    "masked_select": lambda: line[mask],
    "nonzero": lambda: mask.nonzero(),
    "embedding": lambda: embedding(some),
    "one_hot": lambda: F.one_hot(some, N),
    # shapes
    "cat": lambda: torch.cat([a, b, c]),
    "stack": lambda: torch.stack([a, b, c], 1),
    "transpose": lambda: a.t().contiguous(),
    "roll": lambda: torch.roll(a, 3, 0),
    "flip": lambda: a.flip(0),
    "tril": lambda: torch.tril(a),
    # creation of tensors
    "rand": lambda: torch.rand(1 << 20, device=DEVICE),
    "randint": lambda: torch.randint(0, 5, (1 << 20,), device=DEVICE),
    "randperm": lambda: torch.randperm(1 << 20, device=DEVICE),
    "arange": lambda: torch.arange(1 << 20, device=DEVICE),
    "multinomial": lambda: torch.multinomial(torch.softmax(a, 1), 4),
    # separate libraries
    "fft": lambda: torch.fft.fft(a).real,
    "cholesky": lambda: torch.linalg.cholesky(positive),
    "inverse": lambda: torch.linalg.inv(positive[:256, :256]),
    "singular_values": lambda: torch.linalg.svdvals(a[:64, :64]),
}
WAITS_ITSELF = {"cholesky", "inverse", "singular_values", "unique"}


def main(fixed, wanted):
    side = torch.cuda.Stream()
    for name, operator in OPERATORS.items():
        if wanted and name not in wanted:
            continue
        try:
            operator()
        except Exception as error:  # the operator is not available here
            print("cannot", name, " ".join(str(error).split())[:100])
            torch.cuda.synchronize()
            continue
        torch.cuda.synchronize()
        result = operator().detach()
        if fixed:
            side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            result.clone()
        torch.cuda.synchronize()
        print("ran", name, flush=True)


if __name__ == "__main__":
    main("fixed" in sys.argv[1:], [name for name in sys.argv[1:] if name != "fixed"])
