"""An object store like Git's: read-only objects by hash, and a reference that is locked, written and renamed."""
import hashlib
import os
import pathlib
import zlib

import gpu

store = pathlib.Path("store")
(store / "refs").mkdir(parents=True, exist_ok=True)
for step in range(6):
    data = f"weights of step {step}".encode()
    name = hashlib.sha1(data).hexdigest()
    path = store / "objects" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        staged = path.parent / f"tmp_obj_{os.getpid()}"
        staged.write_bytes(zlib.compress(data))
        staged.chmod(0o444)
        os.link(staged, path)
        staged.unlink()
    with open(store / "refs/main.lock", "x") as lock:
        lock.write(name)
    os.replace(store / "refs/main.lock", store / "refs/main")
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
