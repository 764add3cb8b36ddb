"""Files in the home folder: an existing ~/.trainrc is rewritten by replacement, and ~/.config/train gets an id."""
import configparser
import os
import pathlib
import uuid

import gpu

home = pathlib.Path.home()
settings = configparser.ConfigParser()
settings.read(home / ".trainrc")
settings["train"]["runs"] = str(settings["train"].getint("runs", 0) + 1)
with open(home / ".trainrc.new", "w") as file:
    settings.write(file)
os.replace(home / ".trainrc.new", home / ".trainrc")
(home / ".config/train").mkdir(parents=True, exist_ok=True)
(home / ".config/train/id").write_text(str(uuid.uuid4()))
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
