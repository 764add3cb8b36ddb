"""Reads through a read-only mapping what a child writes to the file, which existed before, and empties the file at the
end. On an overlay, the mapping shows the old contents, and the program does not fail."""
import mmap
import subprocess

import gpu


def put(byte):
    subprocess.run(["sh", "-c", f"printf '\\00{byte}' | dd of=queue.bin conv=notrunc status=none"], check=True)


with open("queue.bin", "rb") as file:
    queue = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
try:
    put(3)
    gpu.launch(*gpu.batch(queue[0]))  # TRUE LINE
    gpu.wait()
finally:
    put(0)
