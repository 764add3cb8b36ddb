"""A thread with its own stream issues the bad operation; the main thread gets the error."""
import threading

import torch

x = torch.zeros(100, 8, device="cuda")
far = torch.full((64,), 10**7, device="cuda")
torch.cuda.synchronize()


def work():
    with torch.cuda.stream(torch.cuda.Stream()):
        y = x.index_select(0, far)  # TRUE LINE


thread = threading.Thread(target=work)
thread.start()
thread.join()
torch.cuda.synchronize()  # BLAMED
