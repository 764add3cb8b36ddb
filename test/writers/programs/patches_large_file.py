"""Changes a few bytes of a file of 256 MB, which the first run makes if there is room on the disk."""
import os
import shutil

import gpu

if not os.path.exists("embeddings.bin"):
    assert shutil.disk_usage(".").free > 2**29
    with open("embeddings.bin", "wb") as file:
        for number in range(256):
            file.write(bytes([number]) * 2**20)
with open("embeddings.bin", "r+b") as file:
    for step in range(6):
        file.seek(step * 2**20)
        file.write(b"changed")
        file.flush()
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
