"""`python -c` calls into this file. The failing line is in code that exec() runs under the file name <string>."""
import os
import sys

import torch


def look_up(table, idx):
    code = compile("rows = table.index_select(0, idx)", "<string>", "exec")
    names = {"table": table, "idx": idx}
    exec(code, names)  # TRUE LINE
    return names["rows"]


def main():
    rows = look_up(torch.randn(100, 8, device="cuda"), torch.tensor([0, 100], device="cuda"))
    print(rows.sum().item())  # BLAMED


if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    start = f"import sys; sys.path.insert(0, {folder!r}); import given_with_c; given_with_c.main()"
    os.execv(sys.executable, [sys.executable, "-c", start])
