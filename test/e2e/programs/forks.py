"""Uses CUDA and forks. With "refused", the child exits before it calls CUDA, as PyTorch does in a forked child."""

import os
import sys

import cuda

cuda.start()
pid = os.fork()  # FORK LINE
if pid == 0:
    os._exit(1 if sys.argv[1] == "refused" else 0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
