"""A captured graph writes to a block that the allocator has given to another tensor since. Argument: "recycled", "kept"
(no other tensor takes the block) or "pool" (the block belongs to a pool of captures)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "graphs/site-packages"))
import torch

what = sys.argv[1]
if what == "pool":
    torch.cuda.pool = (0, 1)
work = torch.Tensor()
graph = torch.cuda.CUDAGraph()
graph.capture_begin()
work.fill_()  # TRUE LINE
graph.capture_end()
graph.replay()
work.resize_()  # FREED LINE
if what != "kept":
    other = torch.Tensor()  # TAKEN LINE
graph.replay()  # REPLAY LINE
graph.replay()
torch.cuda.synchronize()
print("done")
