"""Modes and times of the program's files: read-only results, an executable script, and times copied from the input."""
import os
import shutil

import gpu

with open("results.txt", "a") as file:
    file.write("0.5\n")
os.chmod("results.txt", 0o644)
os.utime("results.txt", ns=(10**18, 10**18))
shutil.copy2("input.txt", "copy.txt")
os.chmod("input.txt", 0o400)
with open("resume.sh", "w") as file:
    file.write("#!/bin/sh\n")
    os.fchmod(file.fileno(), 0o755)
os.makedirs("private", mode=0o700, exist_ok=True)
os.chown("results.txt", os.getuid(), os.getgid())
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
