"""A FIFO in the working folder, by which a child process sends batches to the trainer."""
import os
import subprocess

import gpu

if not os.path.exists("batches.fifo"):
    os.mkfifo("batches.fifo")
producer = subprocess.Popen(["sh", "-c", "seq 0 5 >batches.fifo"])
with open("batches.fifo") as batches:
    numbers = [int(line) for line in batches]
producer.wait()
for number in numbers:
    gpu.launch(*gpu.batch(number))  # TRUE LINE
    gpu.wait()
