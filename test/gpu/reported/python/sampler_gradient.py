"""The gradient of sampled images comes from an empty batch, but the images and the grid are from a full one."""
import torch

from here import or_skip

images = torch.rand(8, 1, 32, 32, device="cuda")
grid = torch.zeros(8, 64, 64, 2, device="cuda")


def backward(gradient):
    bilinear, zeros, align_corners, wanted = 0, 0, False, [True, True]
    torch.ops.aten.grid_sampler_2d_backward(gradient, images, grid, bilinear, zeros, align_corners, wanted)  # LAUNCH
    torch.cuda.synchronize()


or_skip(lambda: backward(torch.ones(8, 1, 64, 64, device="cuda")))
backward(torch.ones(0, 1, 64, 64, device="cuda"))
