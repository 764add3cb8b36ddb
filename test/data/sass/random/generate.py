"""Writes random expressions (expressions.inc), compiles each as the index of a store, and disassembles the kernels.

Usage: generate.py SEED COUNT. Needs nvcc, and nvdisasm in PATH. test/unit/sass/random_test.cc reads the files.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
ARCHITECTURES = (75, 80, 90, 100, 120)  # the code for sm_103 and sm_121 is that for sm_100 and sm_120
KERNEL = """using Wide = unsigned long long;
using Signed = long long;
using Byte = signed char;
#define EXPRESSION(number, expression) extern "C" __global__ void \\
  e##number(char* out, unsigned a, unsigned b, Wide l, Wide m) { \\
    const unsigned t = threadIdx.x, u = threadIdx.y, c = blockIdx.x; out[expression] = 1; }
#include "expressions.inc"
"""
MNEMONIC = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")


def narrow(r, depth):
    """Returns an expression of 32 bits: parameters a and b, the thread's indices t and u, the block's index c."""
    if depth == 0 or r.random() < 0.12:
        return r.choice("abtuc") if r.random() < 0.75 else f"{r.choice((1, 3, 7, 8, 12, 31, 255, 4095, 0x10001))}u"
    x, y, z = (narrow(r, depth - 1) for _ in range(3))
    shift, factor = r.randrange(1, 31), r.choice((2, 3, 4, 5, 8, 12, 100, 1024))
    return r.choice((
        f"({x} + {y})", f"({x} - {y})", f"({x} * {factor}u)", f"({x} * {factor}u + {y})", f"({x} * {y})",
        f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})", f"(~{x})", f"({x} << {shift % 12})", f"({x} >> {shift})",
        f"unsigned(int({x}) >> {shift})", f"({x} < {y} ? {x} : {y})", f"(int({x}) < int({y}) ? {y} : {x})",
        f"({x} == {y} ? {x} : {z})", f"({x} / {r.choice((3, 7, 10, 16))}u)", f"({x} % {r.choice((3, 8, 10))}u)",
        f"unsigned(int(Byte({x})))", f"unsigned({wide(r, depth - 1)} >> {shift})", f"(int({x}) < 0 ? -{x} : {x})",
        f"unsigned(short({x}))", f"({x} & 0xff00u)", f"({x} << {shift} | {y} >> {32 - shift})"))


def wide(r, depth):
    """Returns an expression of 64 bits: parameters l and m."""
    if depth == 0 or r.random() < 0.1:
        return r.choice("lm")
    x, y, n, k = wide(r, depth - 1), wide(r, depth - 1), narrow(r, depth - 1), narrow(r, depth - 1)
    shift = r.randrange(1, 40)
    return r.choice((
        f"({x} + {y})", f"({x} - {y})", f"({x} + {n})", f"Wide({n})", f"Wide(Signed(int({n})))", f"(Wide({n}) * {k})",
        f"Wide(Signed(int({n})) * int({k}))", f"({x} << {shift % 12})", f"({x} >> {shift})",
        f"Wide(Signed({x}) >> {shift})", f"({x} < {y} ? {x} : {y})", f"(Signed({x}) < Signed({y}) ? {y} : {x})",
        f"({x} & {y})", f"({x} ^ {y})", f"({x} * {r.choice((3, 24, 1000))}u)", f"({n} & 1 ? {x} : {y})",
        f"({x} + Wide({n}) * 4)", f"({x} + Wide(Signed(int({n}))) * 12)"))


def disassembled(cubin):
    """Returns the kernels' instructions, with addresses in place of labels."""
    kernels, labels, here = {}, {}, []
    for line in subprocess.check_output(["nvdisasm", "-c", cubin], text=True).splitlines():
        section, label, code = re.match(r"\s*\.section\s+\.text\.e(\d+)", line), re.match(r"(\.L_\w+):", line), \
            MNEMONIC.match(line)
        if section:
            here = kernels.setdefault(int(section[1]), [])
        elif label:
            labels[label[1]] = len(here)
        elif code and code[2] != "NOP":
            here.append((code[1], code[2]))
    jump = re.compile(r"`\(([^)]*)\)")
    for number in sorted(kernels):
        yield f"// e{number}\n"
        for address, text in kernels[number]:
            yield f"/*{address}*/ {jump.sub(lambda to: '0x%x' % (16 * labels[to[1]]), text)} ;\n"


def main():
    r = random.Random(int(sys.argv[1]))
    with open(os.path.join(FOLDER, "expressions.inc"), "w", encoding="utf-8") as out:
        for i in range(int(sys.argv[2])):
            index = wide(r, 3 + i % 2)
            if i % 2 == 0:
                n = narrow(r, 3 + i % 2)
                index = r.choice((f"Wide({n})", f"Wide(Signed(int({n})))", f"Wide({n}) * 4"))
            out.write(f"EXPRESSION({i}, {index})\n")
    with tempfile.TemporaryDirectory() as scratch:
        source, cubin = os.path.join(scratch, "random.cu"), os.path.join(scratch, "random.cubin")
        with open(source, "w", encoding="utf-8") as out:
            out.write(KERNEL)
        for each in ARCHITECTURES:
            subprocess.check_call(["nvcc", "-w", "-cubin", f"-arch=sm_{each}", "-I", FOLDER, "-o", cubin, source])
            with open(os.path.join(FOLDER, f"sm{each}.txt"), "w", encoding="utf-8") as out:
                out.writelines(disassembled(cubin))


if __name__ == "__main__":
    main()
