#!/usr/bin/env python3
"""Whether the program handles a NaN that has left PyTorch, or ended because of it, and which memory counts as data that
other code wrote. Runs programs on the CPU. Skips with a message (77) if PyTorch is missing."""
import pathlib
import tempfile
import unittest

from hook import need_pytorch

need_pytorch()
import torch
from nan_programs import WEAK, line_in, run_in_fork

STEPS = """
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for s in range(3):
    loss = (w * 0 / (0 if s == 1 else 1)).sum()
    {guard}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
AFTER = """
def has_nan(v): return str(v) == 'nan'
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for s in range(3):
    opt.zero_grad()
    loss = (w * 0 / (0 if s == 1 else 1)).sum()
    loss.backward()
    v = loss.item()
    if {check}: continue
    opt.step()
"""
CLASS = """
class Meter:
    def __init__(self):
        self.values = []

    def add(self, tensor):
        self.values.append(tensor.item())

    def mean(self):
        good = [each for each in self.values if not math.isnan(each)]
        return sum(good) / len(good)


meter = Meter()
for i in range(3):
    meter.add(torch.zeros(()) / i if i else torch.zeros(()) / 0)
meter.mean()
"""

# The program handles the NaN.
HANDLED = {
    "check of NumPy": STEPS.format(guard="if np.isnan(loss.detach().numpy()): continue"),
    "check in a function": "def bad(v): return not math.isfinite(v)\n" + STEPS.format(
        guard="if bad(loss.item()): continue"),
    "comparison with itself": STEPS.format(guard="v = loss.item()\n    if v != v: continue"),
    "comparison that NaN fails": STEPS.format(guard="if not (loss.item() < 1e4): continue"),
    **{"check after backward: " + check: AFTER.format(check=check)
       for check in ("math.isnan(v)", "has_nan(v)", "np.isnan([v]).any()", "v != v", "not v < 1e4")},
    "mean of NumPy": "x = (torch.zeros(3) / torch.tensor([0., 1., 1.])).numpy()\nprint(np.nanmean(x))",
    "replaced in NumPy": "x = (torch.zeros(3) / torch.tensor([0., 1., 1.])).numpy()\nprint(np.nan_to_num(x).sum())",
    "check in another method": CLASS,
    "list without NaN": "x = (torch.zeros(3) / torch.tensor([0., 1., 2.])).tolist()\nprint([v for v in x if v == v])",
    "overwritten by NumPy": "x = torch.zeros(5) / 0\nx.numpy()[:] = 1.0\nprint((x * 2).sum().item())",
    "printed after a replacement": "print(np.nanmax((torch.zeros(2) / torch.tensor([0., 1.])).numpy()))",
}

# The program ends for another reason.
UNRELATED = {
    "status of its own": "ok = torch.isnan(torch.zeros(2) / 0)\nprint(int(ok.sum()))\nsys.exit(1 if len(sys.argv) > 5 else 3)",
    "file is missing": "x = torch.tensor([1., float('nan')]) * 2\nn = (x > 0).sum().item()\n"
                       "raise FileNotFoundError('config.yaml')",
    "text with the word": "x = torch.zeros(2) / 0\nbad = torch.isnan(x)\nraise FileNotFoundError('nan')",
    "file whose name has the word": "x = torch.zeros(2) / 0\nbad = torch.isnan(x)\nraise ValueError('runs/nan.yaml')",
    "error of a caught failure": "try:\n    torch.multinomial(torch.zeros(3) / 0, 1)\nexcept RuntimeError:\n    pass\n"
                                 "raise TypeError('cannot pickle')",
    "wrong shape": "(torch.zeros(2, 3) / 0) @ torch.zeros(4, 5)",
    "status of main()": "def main():\n    bad = torch.isnan(torch.zeros(2) / 0)\n    print(bad.sum().item())\n"
                        "    return 3\nsys.exit(main())",
    "error behind a check": "if torch.isnan(torch.zeros(2) / 0).any():\n    print('missing')\nraise KeyError('name')",
    "status 0": "if torch.isnan(torch.zeros(2) / 0).any():\n    sys.exit(0)",
}

# The program ends because of the NaN of line 5.
ENDED = {
    "raises under a check": "x = torch.zeros(2) / 0\nif torch.isnan(x).any():\n    raise ValueError('diverged')",
    "asserts": "x = torch.zeros(2) / 0\nassert torch.isfinite(x).all()",
    "exits under a check": "x = torch.zeros(2) / 0\nbad = torch.isnan(x)\nnumber = int(bad.sum())\nif number > 0:\n"
                           "    sys.exit(1)",
    "exits with the count": "x = torch.zeros(2) / 0\nsys.exit(int(torch.isnan(x).sum()))",
    "check in a function": "x = torch.zeros(2) / 0\ndef ok(t):\n    return torch.isfinite(t).all()\nif not ok(x):\n"
                           "    raise RuntimeError('diverged')",
    "status of a function": "x = torch.zeros(2) / 0\ndef main():\n    if torch.isnan(x).any():\n        return 4\n"
                            "    return 0\nsys.exit(main())",
    "number that is checked": "x = torch.zeros(2) / 0\nv = x.sum().item()\nif v != v:\n    raise RuntimeError('diverged')",
    "error that names it": "x = torch.zeros(2) / 0\nint(x.sum().item())",
    "operator that names it": "x = torch.zeros(3) / 0\ntorch.multinomial(x, 1)",
}

# We cannot see what the program does with the NaN.
UNSEEN = {
    "number": "x = torch.zeros(2) / 0\nvalues = [x.sum().item()]",
    "array": "x = (torch.zeros(2) / 0).numpy()\nprint(max(x))",
    "compared": "x = torch.zeros(2) / 0\nassert (x >= 0).all()",
    "refused": "x = torch.zeros(2) / 0\ntorch.nn.functional.binary_cross_entropy(x, torch.ones(2))",
}

PRINTED = {
    "print": "x = torch.zeros(2) / 0\nprint('sum', x.sum().item() / 2)",
    "list": "x = torch.zeros(2) / 0\nprint(x.tolist())",
    "f-string": "x = torch.zeros(2) / 0\nline = f'{x.sum():.3f}'",
    "f-string of a number": "x = torch.zeros(2) / 0\nline = f'{x.sum().item():.3f}'",
    "format": "x = torch.zeros(2) / 0\nprint('{}'.format(round(x.sum().item(), 3)))",
    "print beside an invalid escape": "x = torch.zeros(2) / 0\nimport warnings\nwarnings.simplefilter('error')\n"
                                      "print('\\d', x.sum().item())",
    "print behind a read": "x = torch.zeros(2) / 0\nvalues = [x.sum().item()]\nprint(x)",
}

# The program has a name or an operator that looks like a check, but does not recognise the NaN.
UNCHECKED = {
    "operator isinf": ("x = torch.zeros(2) / 0\nif torch.isinf(x).any():\n    x = x.clamp(-1e4, 1e4)\nprint(x)", "printed"),
    "isinf": ("x = torch.zeros(2) / 0\nbest = float('inf')\nif math.isinf(best):\n    print(x.sum().item())", "printed"),
    "isclose": ("x = torch.zeros(2) / 0\nif math.isclose(0.1, 0.1):\n    print(x.sum().item())", "printed"),
    "isclose that fails": ("x = torch.zeros(2) / 0\nv = x.sum().item()\nif not math.isclose(v, 1):\n"
                           "    raise RuntimeError('wrong')", "compared"),
    "infinite": ("x = torch.zeros(2) / 0\ndef infinite_batches():\n    yield x\n"
                 "values = [batch.sum().item() for batch in infinite_batches()]", "number"),
    "definite": ("x = torch.zeros(2) / 0\npositive_definite = True\nvalues = [x.sum().item()]", "number"),
}

WORKER = """
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.tensor([float(i), float('nan') if i == 5 else 1.0]) * 1
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for batch in DataLoader(Data(), batch_size=4, num_workers=1):  # LOADED
    opt.zero_grad()
    (batch * w).sum().backward()
    opt.step()
"""
FILLED = """
x = torch.empty(2)
{fill}
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()  # LOADED
loss.backward()
"""
LOADED = {
    "worker of a loader": WORKER,
    "written through NumPy": FILLED.format(fill="x.numpy()[:] = [1.0, np.nan]"),
    "written at its address": FILLED.format(fill="(ctypes.c_float * 2).from_address(x.data_ptr())[:] = [1.0, np.nan]"),
    "loaded file": "torch.save(torch.tensor([1.0, float('nan')]), sys.argv[0] + '.pt')\n"
                   "x = torch.load(sys.argv[0] + '.pt')  # LOADED\n(x * 2).sum().backward() if x.requires_grad else print(x * 2)",
}
HEAD = "import ctypes, math, sys\ntry: import numpy as np\nexcept ImportError: sys.exit(77)\nimport torch\n"


class Guards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program.py"

    def found(self, source):
        self.program.write_text(HEAD + source)
        message, notes = run_in_fork(str(self.program))
        self.assertEqual(notes, [])
        return message

    def each(self, programs, judge):
        for name, source in programs.items():
            with self.subTest(name):
                judge(name, source, self.found(source))

    def used(self, message, word):
        self.assertIsNotNone(message)
        self.assertEqual((message["used"], line_in(str(self.program), message)), (word, 5))

    def test_nan_that_the_program_handles_is_not_reported(self):
        self.each(HANDLED, lambda name, source, message: self.assertIsNone(message))

    def test_an_unrelated_end_is_not_because_of_nan(self):
        self.each(UNRELATED, lambda name, source, message: self.assertIsNone(message))

    def test_an_end_because_of_nan_is(self):
        self.each(ENDED, lambda name, source, message: self.used(message, "exception"))

    def test_what_cannot_be_seen_is_suspected(self):
        self.assertEqual(sorted(UNSEEN), sorted(WEAK))
        self.each(UNSEEN, lambda name, source, message: self.used(message, name))

    def test_what_does_not_recognise_nan_is_not_a_check(self):
        self.each({name: source for name, (source, _) in UNCHECKED.items()},
                  lambda name, source, message: self.used(message, UNCHECKED[name][1]))

    def test_a_number_that_becomes_text_is_printed(self):
        self.each(PRINTED, lambda name, source, message: self.used(message, "printed"))

    def test_memory_that_other_code_wrote_is_data(self):
        def judge(name, source, message):
            self.assertIsNotNone(message)
            lines = (HEAD + source).splitlines()
            marked = next(number for number, line in enumerate(lines, 1) if "# LOADED" in line)
            self.assertEqual(message["role"], "loaded")
            self.assertIn(marked, [line_in(str(self.program), message, stack) for stack in ("stack", "forward_stack")])
        self.each(LOADED, judge)

    def test_memory_that_nothing_wrote_is_not_data(self):
        message = self.found("torch.utils.deterministic.fill_uninitialized_memory = True\n"
                             "torch.use_deterministic_algorithms(True)\nx = torch.empty(2)\nprint(x * 2)")
        self.assertEqual(message["role"], "uninitialised")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
