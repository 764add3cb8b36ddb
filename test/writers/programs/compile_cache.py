"""A compile cache as those of Triton and Inductor: a folder by hash, files written under a temporary name and replaced,
and a lock beside them. The rerun may find the entries."""
import fcntl
import hashlib
import os
import pathlib
import py_compile

import gpu

cache = pathlib.Path(os.environ.get("TRITON_CACHE_DIR", pathlib.Path.home() / ".triton/cache"))
for number in range(3):
    code = f"def kernel(x):\n    return x + {number}\n"
    folder = cache / hashlib.sha256(code.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "kernel.pyc").exists():
            staged = folder / f"tmp.pid_{os.getpid()}.py"
            staged.write_text(code)
            py_compile.compile(str(staged), cfile=str(folder / "kernel.pyc"), doraise=True)
            os.replace(staged, folder / "kernel.py")
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
