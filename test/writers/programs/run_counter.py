"""A counter in a file decides the name of the run's folder, which must be new."""
import pathlib

import gpu

counter = pathlib.Path("counter.txt")
number = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(number))
folder = pathlib.Path(f"run-{number:04}")
folder.mkdir()
(folder / "notes.txt").write_text("started\n")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
