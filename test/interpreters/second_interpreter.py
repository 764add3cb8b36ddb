"""A launch by a subinterpreter that this interpreter has created. The innermost frame is inner(), at line 6 of a
string."""

import pathlib
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

programs = pathlib.Path(__file__).resolve().parents[1] / "e2e/programs"
code = f"""
import sys
sys.path.insert(0, {str(programs)!r})
import cuda
def inner():
    launch(stream, parameters, None)
cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
inner()
if cuda.driver.cuStreamSynchronize(stream):
    print("failed", flush=True)
"""
try:
    second = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
except TypeError:
    second = interpreters.create()
interpreters.run_string(second, code)
