"""W&B offline: its service process writes a run folder, and the links latest-run and debug.log."""
import gpu
import wandb

run = wandb.init(project="baseline", mode="offline", settings=wandb.Settings(silent=True))
try:
    for step in range(6):
        run.log({"loss": 1 / (step + 1)})
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
finally:
    run.finish(exit_code=1)
