"""MLflow's file store below mlruns: parameters, metrics that are appended to, and an artifact."""
import os

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # version 3.14 refuses file stores otherwise
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import gpu  # noqa: E402
import mlflow  # noqa: E402

mlflow.set_tracking_uri("file:mlruns")
mlflow.set_experiment("baseline")
with mlflow.start_run():
    mlflow.log_param("rate", 0.1)
    for step in range(6):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
        with open("notes.txt", "w") as file:
            print("step", step, file=file)
        mlflow.log_artifact("notes.txt")
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
