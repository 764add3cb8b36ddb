"""A kernel that the backward pass launches from a thread without Python frames: backward.py CASE"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import cuda
import torch
from torch import autograd


def function(name):
    return cuda.kernel(name)[0].args[0]


class Scale(autograd.Function):
    @staticmethod
    def forward(kernel):
        torch.launch(kernel)


cuda.start()
forward, other, ones, bad = map(function, ("forward", "other", "ones", "bad"))
what = sys.argv[1]
torch.launch(other)
loss = torch.gather(forward, True)
if what in ("gather", "explicit"):
    node = torch.gather(forward, True)  # TRUE LINE gather
elif what == "view":
    node = torch.view()  # TRUE LINE view
elif what == "function":
    node = Scale.apply(forward)  # TRUE LINE function
elif what == "twice":
    first = torch.gather(forward, True)  # TRUE LINE twice
    node = autograd.backward([first], other, ones, create_graph=True)
torch.gather(other, False)
if what == "explicit":
    autograd.backward([loss], other, ones)
    autograd.backward([node], bad)
else:
    autograd.backward([node], bad, ones)  # BACKWARD LINE
sys.exit(1 if cuda.driver.cuCtxSynchronize() else 0)
