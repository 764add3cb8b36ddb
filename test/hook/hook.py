"""Loads the hook's package as the recorder does. The functions that the hook calls store their arguments here."""
import importlib.util
import inspect
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "lib/python"


def need_pytorch():
    """Continues in the interpreter that CUDADIAG_TORCH_PYTHON gives, if this one has no PyTorch; skips with a message
    (77) if neither has it."""
    if importlib.util.find_spec("torch") is not None:
        return
    other = os.environ.pop("CUDADIAG_TORCH_PYTHON", "")
    if other:
        os.execv(other, [other, "-B", *sys.argv])
    print("skipped: this Python has no PyTorch; set CUDADIAG_TORCH_PYTHON to one that has it")
    sys.exit(77)


def files():
    return [file for file in (ROOT / "cudadiag_hook").rglob("*.py") if file.stem != "__init__"]


def sources():
    return {file.stem: file.read_text() for file in files()}


class Hook:
    """The package. It watches the lines of `functions` that are marked `# SUSPECT`."""

    def __init__(self, *functions, near=True, seconds=10, mode="operators", nodes=(), save=0, folder="", threads=False):
        self.messages, self.notes, self.calls, self.is_near = [], [], [], near
        lines = [f"{seconds}\t{save}"]
        self.has_failed = False
        for function in functions:
            code = function.__code__
            source, first = inspect.getsourcelines(function)
            place = "0\twatch\t" if mode == "watch" else f"{code.co_firstlineno}\t{mode}\t{function.__qualname__}"
            lines += [f"{first + at}\t{place}\t{code.co_filename}"
                      for at, line in enumerate(source) if "# SUSPECT" in line]
        lines += [f"0\t0\tnodes\t{name}\t" for name in nodes] + ["0\t0\tthreads\t\t"] * threads
        self.given = {
            "lines": "\n".join(lines), "inputs_folder": str(folder), "note": self.notes.append,
            "near": lambda: self.is_near, "failed": lambda: self.has_failed,
            "deliver_watched": lambda text: self.messages.append(json.loads(text)) or True,
            "deliver": lambda text: self.messages.append(json.loads(text)) or True,
            "quiet": lambda on: self.calls.append(("quiet", on)),
            "hooked": lambda on: self.calls.append(("hooked", on)),
        }

    def load(self):
        names = {"sources": sources(), "given": {}}
        exec(compile((ROOT / "load.py").read_text(), "<cudadiag>", "exec"), names)
        self.package = names["package"]
        vars(self.package.recorder).update(self.given)
        return self.package

    def begin(self, devices=("cuda", "cpu")):
        self.load().tensors.devices[:] = devices
        self.package.suspect_settings.start()
        return self

    def end(self):
        if hasattr(sys, "monitoring"):
            tool = self.package.budget.state.tool
            if tool is not None:
                sys.monitoring.set_events(tool, 0)
                sys.monitoring.free_tool_id(tool)
        else:
            sys.settrace(None)
        import threading
        threading.settrace(None)

    def of_kind(self, kind):
        return [message for message in self.messages if message["kind"] == kind]
