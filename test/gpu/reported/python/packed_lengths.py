"""Attention over packed sequences: the starts of the keys count bytes of rows instead of rows."""
import torch

from here import or_skip

HEADS, WIDTH, LENGTH, SEQUENCES = 8, 64, 512, 128


def attend(starts_of_keys):
    torch.ops.aten._flash_attention_forward(q, k, v, starts, starts_of_keys, LENGTH, LENGTH, 0.0, False,  # LAUNCH
                                            False)  # LAUNCH
    torch.cuda.synchronize()


shape = LENGTH * SEQUENCES, HEADS, WIDTH
q, k, v = (torch.zeros(shape, dtype=torch.float16, device="cuda") for _ in range(3))  # ALLOC
starts = torch.arange(0, LENGTH * SEQUENCES + 1, LENGTH, dtype=torch.int32, device="cuda")
or_skip(lambda: attend(starts))
attend(starts * (HEADS * WIDTH * 2))  # LAUNCH
