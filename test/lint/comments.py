#!/usr/bin/env python3
"""comments.py FILE...: prints the comments of C++ files that describe nothing, name files that are gone, or are too wide.

Works on lines and knows no C++. It cannot see that a comment precedes the wrong declaration.
"""
import re
import subprocess
import sys

MOST_COLUMNS = 120
TOKEN = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\[^\n\']{1,8}|[^\'\\\n])\'|//[^\n]*', re.DOTALL)
QUOTED = re.compile(r'"[^"]*("|$)|<[^>]*>|https?://\S+')
PATH = re.compile(r"(?<![\w/.*-])(?:(?:[\w-]+/)+[\w-]+\.(?:h|cc|py)|[\w-]+\.(?:h|cc))\b")
# Files of other projects.
FOREIGN = {"Include/internal/pycore_frame.h", "cpython/code.h", "cuda.h", "cupti.h", "dlfcn.h", "fatbinary_section.h",
           "fmt/core.h", "nvml.h", "torch/csrc/autograd/function.h", "torch/nn/functional.py"}


def comments_of(text):
    """Returns the comment of each line that has one: {line number from 0: (column, whether it is alone, text)}."""
    found, starts = {}, [0] + [match.end() for match in re.finditer("\n", text)]
    line = 0
    for token in TOKEN.finditer(text):
        if not token.group().startswith("//"):
            continue
        while line + 1 < len(starts) and starts[line + 1] <= token.start():
            line += 1
        before = text[starts[line]:token.start()]
        found[line] = (len(before), not before.strip(), token.group())
    return found


def blocks_of(comments):
    """Returns (first line, last line, column) of comments that have lines of their own. Comments beside code continue on
    lines of their own, and are not blocks."""
    blocks, beside = [], None
    for line, (column, alone, _) in sorted(comments.items()):
        if not alone:
            beside = (line, column)
        elif beside == (line - 1, column):
            beside = (line, column)
        elif blocks and blocks[-1][1:] == (line - 1, column):
            blocks[-1] = (blocks[-1][0], line, column)
        else:
            blocks.append((line, line, column))
    return blocks


def is_heading(words):
    return words.startswith("// ----") or re.fullmatch(r"// @\w+@", words)


def runs_together(above, below):
    """Returns whether a sentence ends at the end of a line on which the next word would fit."""
    (column, _, first), (_, _, second) = above, below
    if not re.match(r"// \w.*[.]$", first) or not re.match(r"// [A-Z][\w']* ", second):
        return False
    return column + len(first) + 1 + len(second.split()[1]) <= MOST_COLUMNS


def complaints(text, has_file):
    """`has_file` returns whether the repository has a file whose path ends in this one."""
    lines, comments = text.split("\n"), comments_of(text)
    code = next((number for number, line in enumerate(lines) if line and not line.startswith(("//", "#"))), len(lines))
    for number, (_, alone, words) in comments.items():
        if len(lines[number]) > MOST_COLUMNS and len(words.split()) > 2:
            yield number + 1, f"a comment in more than {MOST_COLUMNS} columns"
        for path in PATH.findall(QUOTED.sub("", words)):
            if path not in FOREIGN and not has_file(path):
                yield number + 1, f"names {path}, and the repository has no such file"
        below = comments.get(number + 1)
        if alone and below and below[1] and runs_together(comments[number], below):
            yield number + 1, "a sentence ends early: are these two comments?"
    for first, last, column in blocks_of(comments):
        after = lines[last + 1] if last + 1 < len(lines) else ""
        ends = not after.strip() or after.startswith((" " * column + "}", "};"))
        if ends and first > code and not is_heading(comments[first][2]):
            yield first + 1, "a comment without a declaration below it: attach it, or make it a heading (// ---- )"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split("\n")
    known = {path[at:] for path in listed for at in [0] + [match.end() for match in re.finditer("/", path)]}
    wrong = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for number, what in sorted(complaints(text, known.__contains__)):
            print(f"{name}:{number}: {what}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
