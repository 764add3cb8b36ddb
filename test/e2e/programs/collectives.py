"""Two ranks that call collectives. The kernels do nothing; the plan decides which of them never finish.
usage: collectives.py missing|other|alike"""

import os
import subprocess
import sys

import cuda

how = sys.argv[1]
rank = os.environ.get("RANK")
if rank is None:
    ranks = [subprocess.Popen([sys.executable, __file__, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "RANK": str(number),
                                   "CUDADIAG_SIM_PLAN": os.environ[f"PLAN_{number}"]}) for number in range(2)]
    # A collective that one rank has not yet called must not look like a hang of the other rank.
    for child in ranks:
        child.stdout.readline()
    for child in ranks:
        child.stdin.write("all wait\n")
        child.stdin.flush()
    sys.exit(max(abs(child.wait()) for child in ranks))

cuda.start()
launch, parameters = cuda.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL")
stream = cuda.stream()


def average():
    launch(stream, parameters, None)  # AVERAGE


for step in range(3):
    if step == 2:
        print("waits", flush=True)
        if rank == "1" and how == "missing":
            # The rank stays alive, without an error.
            sys.stdin.read()  # AWAY
        else:
            sys.stdin.readline()
    if step == 2 and rank == "1" and how == "other":
        launch(stream, parameters, None)  # OTHER
    else:
        average()
cuda.driver.cuStreamSynchronize(stream)
