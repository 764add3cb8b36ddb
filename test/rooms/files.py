#!/usr/bin/env python3
"""Lists source files with the first sentence of the comment at their beginning.

usage: files.py              lists all files by folder
       files.py WORD...      lists the files whose path or comment matches the words best, the best first
       files.py --check      fails if a file of the product has no such comment
"""
import pathlib
import re
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = re.compile(r"^(//|#(?!!)|\"\"\")\s?")
# Programs that the tests run, and their input.
PROGRAMS = ("test/targets/", "test/data/", "test/fuzz/corpus/", "test/gpu/cuda/", "test/gpu/python/", "test/gpu/silent/",
            "test/gpu/addresses/", "test/gpu/reported/", "test/gpu/operators/", "test/writers/programs/")
MOST = 20


def units():
    """Paths below the root, each header once without its .cc file."""
    paths = (path.relative_to(ROOT) for room in ("cmd", "lib", "test") for path in (ROOT / room).rglob("*"))
    files = {path for path in paths
             if path.suffix in (".h", ".cc", ".py") and not path.as_posix().startswith(PROGRAMS)}
    return sorted(file for file in files if file.suffix != ".cc" or file.with_suffix(".h") not in files)


def first_comment(text):
    """Returns the comment at the beginning of a file on one line; "" if there is none."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("#pragma", "#include", "#!")):
            continue
        if not MARK.match(line) and not (lines and lines[0].startswith('"""')):
            break
        lines.append(line)
        if line.startswith('"""') and line.count('"""') == 2 or len(lines) > 1 and '"""' in line:
            break
    return " ".join(MARK.sub("", line).replace('"""', "").strip() for line in lines).strip()


def first_sentence(comment):
    return re.split(r"(?<=[^.]\.)\s+(?=[A-Z`%])", comment, maxsplit=1)[0]


def comment_of(unit):
    """Returns the first comment of a file, or if its header has none, that of the .cc file."""
    source = ROOT / unit.with_suffix(".cc")
    return first_comment((ROOT / unit).read_text()) or (first_comment(source.read_text()) if source.exists() else "")


def score(words, unit, comment):
    """Words in the path or the first sentence count twice, others in the comment once."""
    near, whole = f"{unit} {first_sentence(comment)}".lower(), comment.lower()
    return sum(2 if word in near else word in whole for word in words)


def check():
    silent = [unit for unit in units() if unit.parts[0] != "test" and not comment_of(unit)]
    for unit in silent:
        print(f"{unit}: no comment at its beginning says what it is for")
    return 1 if silent else 0


def main():
    words = [word.lower() for word in sys.argv[1:]]
    if words == ["--check"]:
        return check()
    rows = [(score(words, unit, comment), unit, first_sentence(comment))
            for unit, comment in ((unit, comment_of(unit)) for unit in units())]
    if words:
        rows = sorted((row for row in rows if row[0]), key=lambda row: -row[0])[:MOST]
        if not rows:
            print("no file matches; try other words, or list all files without words", file=sys.stderr)
            return 1
    for _, unit, sentence in rows:
        print(f"{unit}\n    {sentence}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
