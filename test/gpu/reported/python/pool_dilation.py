"""A pooling of single elements with the largest dilation: the column in the kernel overflows and is negative."""
import torch

from here import or_skip


def pool(x, dilation):
    result = torch.nn.functional.max_pool2d(x, kernel_size=1, stride=1, dilation=dilation)  # LAUNCH
    torch.cuda.synchronize()
    return result


x = torch.zeros(8, 16, 256, 256, device="cuda")  # ALLOC
or_skip(lambda: pool(x, 1))
pool(x, 2**31 - 1)
