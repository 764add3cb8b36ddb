"""A shared mapping of a file that existed before: a child process counts in it, and the trainer reads the count."""
import mmap
import os
import struct

import gpu

with open("progress.bin", "r+b") as file:
    memory = mmap.mmap(file.fileno(), 4096)
before, = struct.unpack_from("q", memory)
child = os.fork()
if child == 0:
    struct.pack_into("q", memory, 0, before + 1)
    memory.flush()
    os._exit(0)
os.waitpid(child, 0)
assert struct.unpack_from("q", memory) == (before + 1,)
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
