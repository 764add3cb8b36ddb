"""Prints the line tables of sample.py as this interpreter compiles it, and the line that it gives for each instruction.

    python3.12 record_tables.py > tables-3.12.txt

Per code object, it prints "code MINOR FIRST_LINE TABLE NAME", then the lines of its instructions: one for every two
bytes of bytecode, "0" for none, runs shortened to LINExCOUNT.
"""
import itertools
import os
import sys
import types


def lines_of(code):
    size = len(code.co_code)
    lines = [0] * size
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            lines[start:end] = [line or 0] * (end - start)
        return lines[::2]
    import dis
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for offset in range(0, size, 2):
        line = starts.get(offset, line)
        lines[offset] = line
    return lines[::2]


def show(code):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    print("code", sys.version_info[1], code.co_firstlineno, table.hex() or "-", code.co_name)
    print(*("%dx%d" % (line, len(list(run))) for line, run in itertools.groupby(lines_of(code))))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            show(constant)


sample = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.py")
with open(sample, encoding="utf-8") as source:
    show(compile(source.read(), "sample.py", "exec"))
