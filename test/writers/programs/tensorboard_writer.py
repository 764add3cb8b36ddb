"""SummaryWriter of torch.utils.tensorboard writes an events file with a name from time, host and process."""
import gpu
from torch.utils.tensorboard import SummaryWriter

with SummaryWriter("runs/baseline", flush_secs=1) as writer:
    for step in range(6):
        writer.add_scalar("loss", 1 / (step + 1), step)
        writer.flush()
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
