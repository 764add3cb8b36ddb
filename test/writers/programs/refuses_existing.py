"""Makes a folder that must not exist, so that no run overwrites another. It remains after the failure."""
import os

import gpu

os.makedirs("results/baseline")
with open("results/baseline/args.txt", "w") as file:
    print("rate=0.1", file=file)
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
