"""Writes beside the script, wherever it is started from. Python's byte code of gpu.py goes there too."""
import pathlib

import gpu

output = pathlib.Path(__file__).resolve().parent / "outputs"
output.mkdir(exist_ok=True)
(output / "last_arguments.txt").write_text("rate=0.1\n")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
