#!/usr/bin/env python3
"""The failing call is saved and repeated, with CPU tensors; skips with a message (77) if PyTorch is missing."""
import json
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import torch
import torch.nn.functional as F

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "lib/supervise/reruns/replay_script.py"


def embedding(table, idx):
    return F.embedding(idx, table)  # SUSPECT


def joins(a, b):
    return torch.cat([a, b, a], dim=1)  # SUSPECT


def views(x):
    return x[:, 1:3].t().clamp(min=float("-inf"), max=0.5)  # SUSPECT


def makes(x):
    return torch.zeros_like(x, dtype=torch.bfloat16)  # SUSPECT


def overlaps(x):
    return torch.add(x[1:], x[:-1])  # SUSPECT


def draws(p):
    return torch.bernoulli(p, generator=torch.Generator())  # SUSPECT


class Inputs(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)
        self.folder = self.scratch / "1.inputs"

    def save(self, function, *arguments, limit=1 << 20, failed=True):
        hook = Hook(function, save=limit, folder=self.folder).begin()
        hook.has_failed = failed
        try:
            function(*arguments)
        except (IndexError, RuntimeError):
            pass
        finally:
            hook.end()
        self.assertEqual(hook.notes, [])

    def call(self):
        return json.loads((self.folder / "call.json").read_text())

    def replay(self, show=""):
        """Returns the replay's status and output. `show` says what to print of the call's result first."""
        text = SCRIPT.read_text()
        if show:
            text = text.replace("    operator(*args", "    result = operator(*args")
            caught = "except Exception as error:\n    text ="
            text = text.replace(caught, f"    print({show})\n{caught}")
        script = self.folder / "replay.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, script], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=100)
        return done.returncode, done.stdout

    def test_the_call_is_made_again(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1, 9]))
        call = self.call()
        self.assertEqual((call["operator"], call["missing"]), ("aten::embedding", []))
        status, output = self.replay()
        # On the CPU, the operator itself rejects the index.
        self.assertEqual(status, 2)
        self.assertIn("aten::embedding failed: IndexError", output)

    def test_no_module_is_taken_from_beside_the_script(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1, 3]))
        for name in ("json", "pathlib", "torch"):
            (self.folder / (name + ".py")).write_text("raise SystemExit(7)\n")
        self.assertEqual(self.replay()[0], 0)

    def test_a_call_that_works_is_said_to_work(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1, 3]))
        status, output = self.replay("result.shape")
        self.assertEqual((status, output.splitlines()[0]), (0, "torch.Size([2, 2])"))

    def test_values_layouts_and_lists_come_back(self):
        for function, arguments in ((joins, (torch.randn(2, 3), torch.randn(2, 1))),
                                    (views, (torch.randn(4, 5, dtype=torch.float64),)),
                                    (makes, (torch.arange(6).view(2, 3),))):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.save(function, *arguments)
            status, output = self.replay("result.tolist(), result.dtype")
            wanted = function(*arguments)
            self.assertEqual((status, output.splitlines()[0]), (0, f"{wanted.tolist()} {wanted.dtype}"))

    def test_alignment_comes_back(self):
        x = torch.zeros(64, dtype=torch.float32)[3:11].view(2, 4)
        self.save(makes, x)
        (about,) = self.call()["tensors"]
        self.assertEqual(about["offset"], x.data_ptr() % 512 // 4)

    def test_one_tensor_twice_is_saved_once(self):
        self.save(joins, torch.randn(2, 3), torch.randn(2, 1))
        self.assertEqual(len(self.call()["tensors"]), 2)

    def test_shared_memory_is_said(self):
        self.save(overlaps, torch.randn(8))
        self.assertEqual(self.call()["missing"], ["tensors 0 and 1 share memory, but not in the replay"])

    def test_what_cannot_be_saved_is_said(self):
        self.save(draws, torch.rand(4))
        self.assertEqual(self.call()["missing"], ["an argument of type Generator"])

    def test_tensors_beyond_the_limit_are_left_out(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1]), limit=16)
        self.assertEqual(self.call()["missing"], ["a float32 tensor of shape [4, 2]"])
        status, output = self.replay()
        self.assertEqual(status, 2)
        self.assertIn("tensor 0 was not saved", output)

    def test_nothing_is_written_without_a_failure_or_unasked(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1]), failed=False)
        self.save(embedding, torch.randn(4, 2), torch.tensor([1]), limit=0)
        self.assertFalse(self.folder.exists())

    def test_files_are_the_users_alone(self):
        self.save(embedding, torch.randn(4, 2), torch.tensor([1]))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (self.folder, *self.folder.iterdir())}
        self.assertEqual(modes, {"1.inputs": 0o700, "call.json": 0o600, "inputs.safetensors": 0o600})


if __name__ == "__main__":
    unittest.main()
