"""The output folder is a link to another disk, as on clusters. Another link leads to a file there."""
import os

import gpu

for step in range(6):
    with open(f"output/step-{step}.txt", "w") as file:
        file.write("state\n")
    with open("history.txt", "a") as history:
        print(os.path.realpath(file.name), file=history)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
