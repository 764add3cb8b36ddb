"""The backward of an autograd function shifts the saved codes and adds the gradient past the end."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, book):
        codes = torch.cdist(x, book).argmin(dim=1)
        used = codes + 1
        ctx.save_for_backward(used, book)
        return book[codes]

    @staticmethod
    def backward(ctx, grad):
        used, book = ctx.saved_tensors
        grad_book = torch.zeros_like(book)
        grad_book.index_add_(0, used, grad)
        return grad, grad_book


book = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], device=DEVICE, requires_grad=True)
x = torch.tensor([[0.1, 0.0], [1.1, 0.9], [3.2, 2.8]], device=DEVICE, requires_grad=True)
quantised = Quantise.apply(x, book)
loss = (quantised - 1.0).pow(2).mean()
loss.backward()
print(book.grad)
