"""Launches two kernels that may be planned to fail. In a rerun that traces bad values, it takes the place of the hook: it
reports an origin. With "stays", in a rerun that does nothing else, it also reports that the hook has stopped, and stays, as
a program may that catches the error. With "quiet", another thread is inside the hook's own CUDA calls while the kernel is
launched. With "child", this program only reports the origin of another value, and a child does the rest. With "twice", it
reports two origins. With "names", it reports the bad value of the failing line to a rerun that confirms."""
import json
import os
import signal
import subprocess
import sys
import threading

import cuda

LINE = next(at for at, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# TRUE LINE"))


def report(kind, **members):
    with open(f"{os.environ['CUDADIAG_SESSION']}/{os.getpid()}.values", "a") as file:
        file.write(f"{os.getpid()} 1 {json.dumps({'kind': kind, **members}, separators=(',', ':'))}\n")


def trace(value):
    step = {"role": "made", "operator": "aten::add.Tensor", "value": value, "stack": [[__file__, LINE, "<module>"]]}
    report("checking", arguments=[], torch="2.11.0")
    report("origin", operator="aten::embedding", argument="indices", index=[1], value=value, certain=True,
           stack=[[__file__, LINE, "<module>"]], origin=[step])
    if os.environ["CUDADIAG_PASS"] == "origin" and "stays" in sys.argv:
        report("note", arguments=[], text="the Python hook stopped: AcceleratorError: CUDA error")
        signal.pause()


def enter_the_hook(package):
    """Returns what ends the calls."""
    busy, over = threading.Event(), threading.Event()

    def hold():
        package.recorder.quiet(True)
        busy.set()
        over.wait()
        package.recorder.quiet(False)

    threading.Thread(target=hold).start()
    busy.wait()
    return over.set


package = getattr(sys, "_cudadiag_hook", None)
cuda.start()
cuda.allocate_as_pytorch_does()
launch, parameters = cuda.kernel("smooth")
others = cuda.kernel("other")
stream = cuda.stream()
if "CUDADIAG_ORIGINS" in os.environ:
    trace(7 if "child" in sys.argv else 511)
    if "twice" in sys.argv:
        trace(7)
others[0](stream, others[1], None)
if "child" in sys.argv:
    sys.exit(subprocess.run([sys.executable, __file__, *(word for word in sys.argv[1:] if word != "child")]).returncode)
if "names" in sys.argv and os.environ["CUDADIAG_PASS"] == "confirm":
    report("line", file=__file__, line=LINE, arguments=[{"name": "indices", "outside": 1, "first_value": 511}])
leave = enter_the_hook(package) if package and "quiet" in sys.argv else int
launch(stream, parameters, None)  # TRUE LINE
leave()
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
