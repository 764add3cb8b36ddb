"""Tokens go to experts by all_to_all; rank 1 expects more of them than rank 0 sends.

Related: https://github.com/verl-project/verl/issues/1158 (an all_to_all that never finishes)
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
WIDTH, TOKENS = 4096, 2048
tokens = torch.ones(2 * TOKENS, WIDTH, device="cuda")
for step in range(3):
    to_each = [TOKENS, TOKENS]
    from_each = [TOKENS, TOKENS]
    if step == 2 and rank == 1:
        from_each = [2 * TOKENS, TOKENS]  # the counts were not exchanged
    received = torch.empty(sum(from_each), WIDTH, device="cuda")
    dist.all_to_all_single(received, tokens, from_each, to_each)  # STUCK
    torch.cuda.synchronize()  # WAITS
    print(step, received[0, 0].item(), flush=True)
