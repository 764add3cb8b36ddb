# Starts the hook in each Python process of `cudadiag nans`, of `races --tensors`, of `run --graph-memory`, and of a rerun
# that traces bad values. A recorder that starts later takes the hook over (load.py). The launcher writes this file as
# sitecustomize.py to a folder of the session, and puts the folder first in PYTHONPATH. load.py and the package are next to
# it as plain text. Finally, this file replaces itself with the program's own sitecustomize.
import os
import sys

MOST_LINE = 32 << 10  # lib/wire/rerun.h


def start(folder):
    session = os.environ.get("CUDADIAG_SESSION")
    if not session:
        return
    import _thread
    import time

    def deliver(text):
        if len(text) > MOST_LINE:
            return False
        line = "%d %d %s\n" % (_thread.get_native_id(), time.monotonic_ns(), text)
        try:
            file = os.open("%s/%d.values" % (session, os.getpid()),
                           os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                return os.write(file, line.encode()) == len(line)
            finally:
                os.close(file)
        except OSError:
            return False

    def note(text):
        quoted = text.replace("\\", "/").replace('"', "'").replace("\n", " ")
        deliver('{"kind":"note","arguments":[],"text":"%s"}' % quoted.encode("ascii", "replace").decode()[:500])

    def read(path):
        with open(path, encoding="ascii") as file:
            return file.read()

    names = {"sources": {}, "given": {"deliver": deliver, "note": note}}
    for name in os.listdir(folder):
        if name.endswith(".txt") and name != "load.txt":
            names["sources"][name[:-len(".txt")]] = read(folder + "/" + name)
    exec(compile(read(folder + "/load.txt"), "<cudadiag>", "exec"), names)
    for name, variable in (("nans", "CUDADIAG_NANS"), ("origins", "CUDADIAG_ORIGINS"),
                           ("tensor_races", "CUDADIAG_TENSOR_RACES"),
                           ("graph_memory", "CUDADIAG_GRAPH_MEMORY")):
        if variable in os.environ:
            getattr(names["package"], name).start(os.environ[variable])
    sys._cudadiag_hook = names["package"]


def import_the_programs_own(folder):
    sys.path[:] = [each for each in sys.path if each != folder]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        sys.modules["sitecustomize"] = ours


_folder = os.path.dirname(os.path.abspath(__file__))
try:
    start(_folder)
except Exception as _error:  # the program must run as without the hook
    sys.stderr.write("cudadiag: this process is not checked: %s\n" % _error)
import_the_programs_own(_folder)
