"""The command line that both kinds of random programs share: BUILD SEED... [--jobs N]; a seed is N or N-M."""

import argparse


def parser():
    words = argparse.ArgumentParser()
    words.add_argument("build")
    words.add_argument("seeds", nargs="+")
    words.add_argument("--jobs", type=int, default=1)
    return words


def each_of(ranges):
    parts = [each.partition("-") for each in ranges]
    return [seed for first, _, last in parts for seed in range(int(first), int(last or first) + 1)]
