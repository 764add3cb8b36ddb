"""A tokenised data set in ~/.cache, which the first run builds and later runs read."""
import hashlib
import json
import pathlib

import gpu

text = pathlib.Path("corpus.txt").read_text()
cache = pathlib.Path.home() / ".cache/datasets" / hashlib.md5(text.encode()).hexdigest()
if not (cache / "dataset_info.json").exists():
    cache.mkdir(parents=True, exist_ok=True)
    partial = cache / "tokens.bin.incomplete"
    partial.write_bytes(bytes(len(word) for word in text.split()))
    partial.rename(cache / "tokens.bin")
    (cache / "dataset_info.json").write_text(json.dumps({"tokens": len(text.split())}))
assert len((cache / "tokens.bin").read_bytes()) == json.loads((cache / "dataset_info.json").read_text())["tokens"]
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
