"""Appends rows to a table that all runs share, and writes the header only if the table is new."""
import csv
import os

import gpu

new = not os.path.exists("results.csv")
with open("results.csv", "a", newline="") as file:
    rows = csv.writer(file)
    if new:
        rows.writerow(["step", "loss"])
    for step in range(6):
        rows.writerow([step, 1 / (step + 1)])
        file.flush()
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
