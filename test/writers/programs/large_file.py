"""Large files: reserves 64 MB with fallocate, makes a sparse file of 8 GB, and cuts an existing file short."""
import os

import gpu

with open("buffer.bin", "w+b") as file:
    os.posix_fallocate(file.fileno(), 0, 64_000_000)
with open("sparse.bin", "wb") as file:
    file.truncate(8_000_000_000)
    file.seek(4_000_000_000)
    file.write(b"middle")
os.truncate("old.bin", 10)
for step in range(6):
    with open("buffer.bin", "r+b") as file:
        file.seek(step * 1_000_000)
        file.write(bytes([step]) * 1000)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
