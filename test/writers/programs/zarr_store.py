"""Zarr: an array in a folder, with one file for each chunk."""
import gpu
import zarr

array = zarr.open("predictions.zarr", mode="a", shape=(64, 16), chunks=(8, 16), dtype="f4")
for step in range(6):
    array[8 * step : 8 * step + 8] = step
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
