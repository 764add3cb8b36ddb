"""Keeps the newest two checkpoints, and removes older ones, among them one of an earlier run."""
import pathlib
import shutil

import gpu

output = pathlib.Path("checkpoints")
for step in range(6):
    folder = output / f"step-{step + 100}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(bytes([step]) * 10000)
    for old in sorted(output.iterdir(), key=lambda each: int(each.name.partition("-")[2]))[:-2]:
        shutil.rmtree(old)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
