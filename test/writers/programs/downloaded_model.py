"""Downloads a model into a cache at the first run: a blob by its hash, and a link to it, as the Hugging Face hub does.
The server belongs to the program, and is not needed if the cache has the model."""
import functools
import hashlib
import http.server
import os
import pathlib
import threading
import urllib.request

import gpu

cache = pathlib.Path.home() / ".cache/huggingface/hub/models--tiny"
link = cache / "snapshots/main/model.bin"
if not link.exists():
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.environ["ELSEWHERE"] + "/server")
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/model.bin").read()
    (cache / "blobs").mkdir(parents=True)
    blob = cache / "blobs" / hashlib.sha256(data).hexdigest()
    blob.with_suffix(".incomplete").write_bytes(data)
    blob.with_suffix(".incomplete").rename(blob)
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
assert len(link.read_bytes()) == 40
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
