"""numpy.memmap with r+: updates embeddings in an existing file in place."""
import gpu
import numpy

numpy.zeros((64, 16), "f4").tofile("embeddings.bin") if not open("embeddings.bin", "ab").tell() else None
table = numpy.memmap("embeddings.bin", dtype="f4", mode="r+", shape=(64, 16))
for step in range(6):
    table[step] += 1
    table.flush()
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
