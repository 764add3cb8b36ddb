"""Evaluates the checkpoint of an earlier run before it trains. A rerun that finds the first run's checkpoint fails at
another line, which is not where the first run failed."""
import os

import gpu

if os.path.exists("last.ckpt"):
    gpu.launch(*gpu.batch(4))
    gpu.wait()
for step in range(6):
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    with open("last.ckpt", "w") as file:
        file.write("state")
    gpu.wait()
