#!/usr/bin/env python3
"""sentences.py FILE...: prints the sentences of man pages and Markdown that have more than 25 words.

Rough by intent: it knows where code, tables and headings are, and ends a sentence at a full stop before a capital.
"""
import re
import sys

MOST_WORDS = 25
BREAK = ""  # ends the preceding sentence


def lines_of_man_page(text):
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        macro = line.split(" ")[0] if line.startswith((".", "'")) else ""
        if macro in (".EX", ".nf", ".TS"):
            code = True
        elif macro in (".EE", ".fi", ".TE"):
            code = False
            yield number, BREAK
        elif code:
            continue
        elif macro in (".TP", ".SH", ".SS", ".PP", ".IP", ".TH", ".br", ".RS", ".RE"):
            yield number, BREAK
        elif not macro or re.fullmatch(r"\.[BIR]{1,2}", macro):
            yield number, re.sub(r'\\f[A-Z]|\\c|\\&|"', "", line.removeprefix(macro).lstrip())


def lines_of_markdown(text):
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        if code or line.startswith(("```", "#", "<!--")) or not line:
            yield number, BREAK
        elif line.startswith("|"):
            for cell in line.strip("|").split(" | "):
                yield number, BREAK
                yield number, cell
        else:
            if re.match(r"\s*([-*]|\d+\.) ", line):
                yield number, BREAK
            yield number, re.sub(r"^\s*([-*]|\d+\.) ", "", line)
        if line.startswith("|"):
            yield number, BREAK


def sentences(lines):
    words, start = [], 0
    for number, line in lines:
        for part in re.split(r"(?<=[.?!:]) +", line) if line else [BREAK]:
            if part and not words:
                start = number
            words += [word for word in part.split() if re.search(r"\w", word)]
            if words and (not part or re.search(r"[.?!:][\"')*]*$", part)):
                yield start, words
                words = []
    if words:
        yield start, words


def main():
    wrong = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        lines = lines_of_markdown(text) if name.endswith(".md") else lines_of_man_page(text)
        for number, words in sentences(lines):
            if len(words) > MOST_WORDS:
                print(f"{name}:{number}: a sentence of {len(words)} words: {' '.join(words)}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
