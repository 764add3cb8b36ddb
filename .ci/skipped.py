#!/usr/bin/env python3
"""skipped.py NAME=FILE...: prints which tests did not run and why. Each FILE is the output of ctest --output-junit."""

import sys
import xml.etree.ElementTree as ElementTree


def reason(case):
    if case.get("status") == "disabled":
        return "disabled here"
    said = (case.findtext("system-out") or "").strip().splitlines()
    return said[-1].removeprefix("skipped: ") if said else "no reason given"


def main(runs):
    for name, _, file in (run.partition("=") for run in runs):
        cases = list(ElementTree.parse(file).getroot().iter("testcase"))
        by_reason = {}
        for case in cases:
            if case.get("status") in ("notrun", "disabled"):
                by_reason.setdefault(reason(case), []).append(case.get("name"))
        print(f"{name}: {sum(map(len, by_reason.values()))} of {len(cases)} tests did not run")
        for why, skipped in by_reason.items():
            print(f"  {why}: {', '.join(skipped)}")


if __name__ == "__main__":
    main(sys.argv[1:])
