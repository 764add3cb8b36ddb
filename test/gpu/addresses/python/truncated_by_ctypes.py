"""ctypes treats an address as a 32-bit int, because the argument types were not declared."""
import ctypes

import torch

from here import or_skip

x = torch.zeros(16 << 20, device="cuda")
runtime = or_skip(lambda: ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0]))
error = runtime.cudaMemset(x.data_ptr(), 0, x.nbytes)  # LAUNCH
print("error", error)
raise SystemExit(error != 0)
