"""A captured graph writes to a block that the allocator has given to another tensor since. Argument: "recycled", "kept"
(no other tensor takes the block), "pool" (the block belongs to a pool of captures), "structure" (the kernel gets the
address in a large structure) or "leftover" (the kernel does not use this word of the structure)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "graphs/site-packages"))
import torch

what = sys.argv[1]
if what == "pool":
    torch.cuda.pool = (0, 1)
work, spare = torch.Tensor(), torch.Tensor()
graph = torch.cuda.CUDAGraph()
graph.capture_begin()
if what in ("structure", "leftover"):
    work.keep_(spare)  # STRUCTURE LINE
else:
    work.fill_()  # TRUE LINE
graph.capture_end()
graph.replay()
(spare if what == "leftover" else work).resize_()  # FREED LINE
if what != "kept":
    other = torch.Tensor()  # TAKEN LINE
graph.replay()  # REPLAY LINE
graph.replay()
torch.cuda.synchronize()
print("done")
