"""Temporary files and folders in $TMPDIR and in the working folder, with and without names."""
import os
import tempfile

import gpu

with tempfile.TemporaryDirectory() as elsewhere, tempfile.TemporaryDirectory(dir=".") as here, \
        tempfile.TemporaryFile(dir=".") as nameless, tempfile.NamedTemporaryFile(prefix="spill-") as named:
    for folder in (elsewhere, here):
        with open(os.path.join(folder, "shard.bin"), "wb") as file:
            file.write(bytes(100_000))
    for file in (nameless, named):
        file.write(bytes(1000))
        file.flush()
    gpu.launch(*gpu.batch(3))  # TRUE LINE
    gpu.wait()
