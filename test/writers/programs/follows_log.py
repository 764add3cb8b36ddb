"""Follows a log that existed before: reads with one descriptor what another appends."""
import gpu

with open("metrics.log") as reader:
    reader.seek(0, 2)
    for step in range(6):
        with open("metrics.log", "a") as writer:
            print(step, file=writer)
        number = int(reader.readline())
        gpu.launch(*gpu.batch(number))  # TRUE LINE
        gpu.wait()
