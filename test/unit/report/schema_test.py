#!/usr/bin/env python3
"""schema_test.py PRINT_SAMPLES CONTRACT: checks that the schema accepts the JSON of every sample report. It must reject
missing members, added members, and members of the wrong type. CONTRACT lists the members that users' scripts rely on;
after a change, `schema_test.py PRINT_SAMPLES CONTRACT --renew` writes it."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    system = "/usr/bin/python3"  # distributions package jsonschema for their own Python
    if sys.executable != system and os.path.exists(system) and not os.environ.get("CUDADIAG_SCHEMA_TEST"):
        os.execve(system, [system, *sys.argv], {**os.environ, "CUDADIAG_SCHEMA_TEST": "system"})
    print("skipped: no Python package jsonschema")
    sys.exit(77)



PRINT_SAMPLES = sys.argv.pop(1)
CONTRACT = pathlib.Path(sys.argv.pop(1))
SCHEMA, *SAMPLES = map(json.loads, subprocess.check_output([PRINT_SAMPLES]).splitlines())
# Older jsonschema releases do not support the schema's dialect. The schema is also valid in the older dialect that they
# support.
VALIDATOR = jsonschema.validators.validator_for(SCHEMA, default=jsonschema.Draft7Validator)(SCHEMA)


def contract():
    """Returns a line for each member of each type: its name and its schema, without the description."""
    lines = []
    for kind, schema in sorted(SCHEMA["$defs"].items()):
        for name, member in schema["properties"].items():
            member.pop("description", None)
            lines.append(f"{kind}.{name} {json.dumps(member, sort_keys=True)}\n")
    return "".join(lines)


if sys.argv[1:] == ["--renew"]:
    CONTRACT.write_text(contract())
    sys.exit()


class Schema(unittest.TestCase):
    def test_keeps_the_contract(self):
        self.assertEqual(CONTRACT.read_text(), contract())

    def test_is_a_schema(self):
        VALIDATOR.check_schema(SCHEMA)

    def test_accepts_every_sample(self):
        self.assertEqual(9, len(SAMPLES))
        for sample in SAMPLES:
            self.assertEqual([], [error.message for error in VALIDATOR.iter_errors(sample)])

    def check_refused(self, sample, change):
        changed = copy.deepcopy(sample)
        change(changed)
        self.assertFalse(VALIDATOR.is_valid(changed))

    def test_refuses_a_missing_member(self):
        self.check_refused(SAMPLES[0], lambda report: report["findings"][0].pop("cause"))

    def test_refuses_an_added_member(self):
        self.check_refused(SAMPLES[0], lambda report: report["findings"][0]["location"].update(column=3))

    def test_refuses_a_number_for_a_text(self):
        self.check_refused(SAMPLES[0], lambda report: report["findings"][0]["launch"].update(stream=0))

    def test_refuses_an_unknown_verdict(self):
        self.check_refused(SAMPLES[0], lambda report: report.update(verdict="maybe"))

    def test_refuses_an_unknown_difference_between_ranks(self):
        self.check_refused(SAMPLES[-1], lambda report: report["ranks"].update(difference="opinion"))


if __name__ == "__main__":
    unittest.main()
