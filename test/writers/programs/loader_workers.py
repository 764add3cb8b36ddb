"""A DataLoader with workers, which send batches in files of shared memory, and an index that the first run caches."""
import gpu
import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.full((1000,), float(i))


torch.multiprocessing.set_sharing_strategy("file_system")
torch.save(torch.randperm(24), "order.pt")
loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2, sampler=torch.load("order.pt").tolist())
batches = [batch.sum().item() for batch in loader]
for step, _ in enumerate(batches):
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
