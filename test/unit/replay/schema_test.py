#!/usr/bin/env python3
"""schema_test.py PRINT_LAUNCH SCHEMA: checks that the schema accepts launch.json and rejects damaged copies of it."""
import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    system = "/usr/bin/python3"  # distributions package jsonschema for their own Python
    if sys.executable != system and subprocess.run([system, "-c", "import jsonschema"], capture_output=True).returncode == 0:
        raise SystemExit(subprocess.run([system, *sys.argv]).returncode)
    print("skipped: no Python package jsonschema")
    raise SystemExit(77)

program, schema_file = sys.argv[1:]
schema = json.load(open(schema_file))
validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)(schema)
launches = [json.loads(line) for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()]
assert len(launches) == 2
for launch in launches:
    validator.validate(launch)


def assert_refused(change):
    launch = copy.deepcopy(launches[0])
    change(launch)
    assert not validator.is_valid(launch), launch


for key in launches[0]:
    assert_refused(lambda launch: launch.pop(key))
assert_refused(lambda launch: launch.update(surprise=1))
assert_refused(lambda launch: launch.update(schema="cudadiag.launch/2"))
assert_refused(lambda launch: launch.update(grid=[1, 1]))
assert_refused(lambda launch: launch["memory"][0].update(address=4096))
assert_refused(lambda launch: launch["memory"][0].update(kind="somewhere"))
assert_refused(lambda launch: launch["memory"][0]["contents"].update(file="../image"))
assert_refused(lambda launch: launch["parameters"][0].update(bytes="0"))
