"""Removes the folder of the run before with all its contents, and makes it anew."""
import os
import shutil

import gpu

shutil.rmtree("output", ignore_errors=True)
os.makedirs("output/images")
assert not os.path.exists("output/images/0.txt")
for step in range(6):
    with open(f"output/images/{step}.txt", "x") as file:
        file.write("pixels\n")
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
