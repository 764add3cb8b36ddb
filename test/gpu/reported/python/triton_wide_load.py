"""Words of four bytes are read from a stream of bytes, behind a header of three bytes."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def unpack(stream, out, header, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    words = (stream + header + 4 * at).to(tl.pointer_type(tl.int32))
    tl.store(out + at, tl.load(words))  # ACCESS


def run(header):
    unpack[(1,)](stream, out, header, SIZE=1024)  # LAUNCH
    torch.cuda.synchronize()


stream = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
out = torch.zeros(1024, dtype=torch.int32, device="cuda")
or_skip(lambda: run(4))
run(3)  # LAUNCH
