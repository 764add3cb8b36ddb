"""Hard links: each checkpoint shares unchanged files with the one before, and one file with data outside the folder."""
import os
import pathlib

import gpu

os.makedirs("checkpoints/0", exist_ok=True)
pathlib.Path("checkpoints/0/frozen.bin").write_bytes(bytes(10_000))
for step in range(1, 6):
    folder = pathlib.Path(f"checkpoints/{step}")
    folder.mkdir(exist_ok=True)
    (folder / "frozen.bin").unlink(missing_ok=True)
    os.link(f"checkpoints/{step - 1}/frozen.bin", folder / "frozen.bin")
    (folder / "tokens.bin").unlink(missing_ok=True)
    os.link("data/tokens.bin", folder / "tokens.bin")
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
