"""Renames the folder of the run before to a free name, and makes a new one."""
import itertools
import os

import gpu

if os.path.exists("output"):
    free = next(name for name in (f"output.{number}" for number in itertools.count(1)) if not os.path.exists(name))
    os.rename("output", free)
os.mkdir("output")
with open("output/loss.txt", "w") as file:
    file.write("0.5\n")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
