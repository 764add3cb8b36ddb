"""Builds an extension in C at start, as torch.utils.cpp_extension.load does: with a lock file that others wait for."""
import ctypes
import os
import pathlib
import subprocess
import time

import gpu

folder = pathlib.Path(os.environ.get("TORCH_EXTENSIONS_DIR", pathlib.Path.home() / ".cache/torch_extensions")) / "scale"
folder.mkdir(parents=True, exist_ok=True)
lock = folder / "lock"
while True:
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        time.sleep(0.05)
try:
    if not (folder / "scale.so").exists():
        (folder / "scale.c").write_text("int scale(int x) { return 2 * x; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-c", "scale.c", "-o", "scale.o"], cwd=folder, check=True)
        subprocess.run(["cc", "-shared", "scale.o", "-o", "scale.so"], cwd=folder, check=True)
finally:
    lock.unlink()
assert ctypes.CDLL(str(folder / "scale.so")).scale(21) == 42
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
