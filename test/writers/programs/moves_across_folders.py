"""Renames across folders: tasks move from pending to running, and results from staging to the output folder."""
import os

import gpu

for folder in ("pending", "running", "staging/results", "output"):
    os.makedirs(folder, exist_ok=True)
task = sorted(os.listdir("pending"))[0]
os.rename(f"pending/{task}", f"running/{task}")
with open("staging/results/loss.txt", "w") as file:
    file.write("0.5\n")
os.rename("staging/results", f"output/results-{os.getpid()}")
os.replace("output/current.txt", "output/previous.txt")
with open("output/current.txt", "w") as file:
    file.write("0.5\n")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
