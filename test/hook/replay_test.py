#!/usr/bin/env python3
"""A saved call is only data: the script that repeats it calls nothing but operators. PyTorch is an imitation."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "lib/supervise/reruns/replay_script.py"
TORCH = '''
import types

class dtype: pass
class layout: pass
class memory_format: pass
class _ops:
    class OpOverload:
        def __call__(self, *args, **kwargs): print("called with", args)
    class _Ops:
        aten = types.SimpleNamespace(add=types.SimpleNamespace(default=None))
        def load_library(self, path): print("loaded", path)
int64 = dtype()
ops = _ops._Ops()
ops.aten.add.default = _ops.OpOverload()
device = str
cuda = types.SimpleNamespace(is_available=lambda: False)
def danger(): pass
'''


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "modules").mkdir()
        (self.folder / "modules/torch.py").write_text(TORCH)
        (self.folder / "inputs.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
        shutil.copy(SCRIPT, self.folder / "replay.py")

    def replay(self, operator, overload, *args):
        call = {"operator": operator, "overload": overload, "missing": [], "tensors": [], "args": args, "kwargs": []}
        (self.folder / "call.json").write_text(json.dumps(call))
        done = subprocess.run([sys.executable, self.folder / "replay.py"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={"PYTHONPATH": str(self.folder / "modules")}, timeout=100)
        return done.returncode, done.stdout

    def test_an_operator_is_called(self):
        status, output = self.replay("aten::add", "", {"value": 3}, {"device": "cpu"})
        self.assertEqual((status, output.splitlines()[0]), (0, "called with (3, 'cpu')"))

    def test_nothing_else_that_the_names_lead_to_is_called(self):
        status, output = self.replay("load_library::__func__", "__call__", {"value": None}, {"value": "/tmp/x.so"})
        self.assertEqual(status, 2)
        self.assertIn("load_library::__func__ is not an operator", output)
        self.assertNotIn("loaded", output)

    def test_of_torch_only_constants_are_taken(self):
        status, output = self.replay("aten::add", "", {"torch": "int64"})
        self.assertEqual(status, 0)
        status, output = self.replay("aten::add", "", {"torch": "danger"})
        self.assertEqual(status, 2)
        self.assertIn("torch.danger is not a constant", output)


if __name__ == "__main__":
    unittest.main()
