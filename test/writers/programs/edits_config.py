"""Edits an existing configuration in place, and keeps a backup."""
import json
import pathlib
import shutil

import gpu

path = pathlib.Path("config.json")
shutil.copyfile(path, "config.json.bak")
config = json.loads(path.read_text())
config["runs"] = config.get("runs", 0) + 1
config["last_status"] = "running"
with open(path, "r+") as file:
    json.dump(config, file)
    file.truncate()
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
