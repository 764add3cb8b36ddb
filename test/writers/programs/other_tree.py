"""An output folder by an absolute path, outside of the working folder and the home folder."""
import os
import pathlib

import gpu

output = pathlib.Path(os.environ["ELSEWHERE"]) / "experiments" / "baseline"
output.mkdir(parents=True, exist_ok=True)
for step in range(6):
    (output / f"step-{step}.txt").write_text("state")
    with open(output.parent / "index.txt", "a") as index:
        print("baseline", step, file=index)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
