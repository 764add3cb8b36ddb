"""The bags of an embedding begin at offsets that are merged from two batches, so they decrease once."""
import torch
import torch.nn.functional as F

table = torch.randn(1000, 64, device="cuda")
ids = torch.arange(2000, device="cuda") % 1000
offsets = torch.arange(0, 2000, 100, device="cuda")
F.embedding_bag(ids, table, offsets, mode="sum")
merged = torch.cat([offsets[:15], offsets[:5]])
F.embedding_bag(ids, table, merged, mode="sum")  # LAUNCH
torch.cuda.synchronize()
