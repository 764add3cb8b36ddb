"""Exits at once if there is a checkpoint. A rerun that finds it does not reach the failing line."""
import os

import gpu

if os.path.exists("last.ckpt"):
    print("found last.ckpt; nothing to train")
    raise SystemExit(0)
with open("last.ckpt", "w") as file:
    file.write("state")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
