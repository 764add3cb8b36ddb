"""A headless Chromium, driven through a pipe: it opens pages, and returns pictures and answers."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program():
    """Returns the browser's path; None if no browser is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    def __init__(self, executable):
        self.folder = tempfile.mkdtemp(prefix="cudadiag-page-")
        to_browser, ours = os.pipe()
        self.answers, from_browser = os.pipe()
        self.number, self.pending = 0, b""
        environment = dict(os.environ, HOME=self.folder)

        def take_places():
            # The browser reads descriptor 3 and writes descriptor 4. The pipes may already have these numbers, so they
            # are first copied out of the way.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [executable, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none",
             "--disable-lcd-text", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=take_places, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.requests = ours
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)  # helpers of the browser that have not ended yet may write to it

    def message(self):
        while b"\0" not in self.pending:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.pending += piece
        text, _, self.pending = self.pending.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            request["sessionId"] = self.session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        self.events = []
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer.get("method"))

    def show(self, page, width, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        while "Page.loadEventFired" not in self.events and self.message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def picture(self, scale=1, height="document.documentElement.scrollHeight"):
        """Returns the page as PNG: its first pixels, as many rows as the expression `height` gives."""
        height = self.ask(height)
        width = self.ask("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])
