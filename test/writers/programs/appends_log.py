"""Appends to a log that existed before, in the working folder, and to one in the home folder."""
import pathlib

import gpu

for step in range(6):
    for path in (pathlib.Path("train.log"), pathlib.Path.home() / "experiments.log"):
        with open(path, "a") as log:
            print("step", step, file=log)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
