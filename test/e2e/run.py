#!/usr/bin/env python3
"""run.py BUILD CASE: one end-to-end case; the simulated driver stands in for a GPU."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import cases
from harness import Machine


def main(build, name):
    machine = Machine(build)
    try:
        getattr(cases, name)(machine)
    finally:
        machine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
