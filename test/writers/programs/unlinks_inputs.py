"""Removes its input after reading it, as a consumer of a spool does. The rerun finds no input."""
import os

import gpu

with open("spool/job.txt") as file:
    number = int(file.read())
os.unlink("spool/job.txt")
gpu.launch(*gpu.batch(number))  # TRUE LINE
gpu.wait()
