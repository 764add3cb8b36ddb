"""A broken installation is refused with the right remedy. A process that uses a GPU and is not recorded is never passed
over in silence, and a program without a GPU gets no message."""

import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import sys
import typing

import targets
from harness import HERE, NO_CALL, expect, expect_in, skip

RECORDER, PRELOAD = "libcudadiag_record.so", "libcudadiag_preload.so"
NOBODY = "65534"


def _install(machine):
    """Copies the command and its libraries, so that the test can damage them. Returns the folder of the copy."""
    prefix = machine.folder / "install"
    for name in ("bin/cudadiag", f"lib/{RECORDER}", f"lib/{PRELOAD}"):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(machine.build / name, prefix / name)
    return prefix


# Damage. Each function damages the file at `path`.

def _cut(size):
    return lambda path: os.truncate(path, size(path.stat().st_size))


def _patched(offset, data):
    def damage(path):
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)
    return damage


def _replaced(old, new):
    def damage(path):
        content = path.read_bytes()
        assert old in content, (old, path)
        path.write_bytes(content.replace(old, new))
    return damage


def _instead(make):
    def damage(path):
        path.unlink()
        make(path)
    return damage


def _mark(path):
    """Returns where the library's mark of its version is."""
    content = path.read_bytes()
    sections, = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<3H", content, 58)
    all_names = struct.unpack_from("<QQ", content, sections + names * size + 24)[0]
    for number in range(count):
        name, = struct.unpack_from("<I", content, sections + number * size)
        if content[all_names + name:].startswith(b".cudadiag\0"):
            return struct.unpack_from("<Q", content, sections + number * size + 24)[0]
    raise AssertionError(f"no mark in {path}")


def _lost_names(path):
    """Makes the address of the library's names invalid, so that the dynamic linker crashes."""
    content = path.read_bytes()
    begin, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<2H", content, 54)
    place = next(struct.unpack_from("<Q", content, begin + number * size + 8)[0] for number in range(count)
                 if struct.unpack_from("<I", content, begin + number * size)[0] == 2)  # PT_DYNAMIC
    while struct.unpack_from("<Q", content, place)[0] != 5:  # DT_STRTAB
        place += 16
    _patched(place + 8, struct.pack("<Q", 1 << 46))(path)


REINSTALL = "reinstall cudadiag"
DAMAGE = {
    "missing": (lambda path: path.unlink(), "", REINSTALL),
    "dangling link": (_instead(lambda path: path.symlink_to("/nowhere/library.so")), "No such file", REINSTALL),
    "circular link": (_instead(lambda path: path.symlink_to(path)), "Too many levels of symbolic links", REINSTALL),
    "folder": (_instead(lambda path: path.mkdir()), "is not a file", REINSTALL),
    "pipe": (_instead(os.mkfifo), "is not a file", REINSTALL),
    "empty": (_cut(lambda size: 0), "is empty", REINSTALL),
    "text": (_instead(lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\n")), "is not a library", REINSTALL),
    "header cut": (_cut(lambda size: 40), "is not a library", REINSTALL),
    "only the header": (_cut(lambda size: 64), "is truncated", REINSTALL),
    "half": (_cut(lambda size: size // 2), "is truncated", REINSTALL),
    "last byte cut": (_cut(lambda size: size - 1), "is truncated", REINSTALL),
    "impossible offset": (_patched(40, b"\xff" * 8), "is truncated", REINSTALL),
    "another processor": (_patched(18, struct.pack("<H", 243)), "another processor (ELF machine 243)", "install the build for"),
    "32 bits": (_patched(4, b"\1"), "is built for another kind of processor", "install the build for"),
    "big-endian": (_patched(5, b"\2"), "is built for another kind of processor", "install the build for"),
    "a program": (_patched(16, struct.pack("<H", 2)), "is not a library", REINSTALL),
    "another library": (lambda path: shutil.copy(pathlib.Path(os.environ["SIM"]), path), "is not a library of cudadiag", REINSTALL),
    "another version": (lambda path: _patched(_mark(path), b"0.9.7".ljust(28, b"\0"))(path), "belongs to cudadiag 0.9.7 ", "install both from the same package"),
    "another format": (lambda path: _patched(_mark(path) + 28, struct.pack("<I", 99))(path), "(session format 99)", "install both from the same package"),
    "too new for this system": (_replaced(b"GLIBC_2.2.5\0", b"GLIBC_9.9.9\0"), "cannot be loaded (", "a build for glibc"),
    "broken inside": (_lost_names, "cannot be loaded (", REINSTALL),
}


def _refusals(machine, prefix, words):
    """Runs the modes of the command. Yields (mode, what it printed, what it printed to stdout)."""
    command = [str(prefix / "bin/cudadiag")]
    for mode, options in (("plain", ["run"]), ("quiet", ["run", "-q"]), ("gate", ["run", "--error-exitcode=9"]),
                          ("races", ["races"]), ("env", ["env"])):
        if mode == "races" and words:
            continue
        for status in (0, 1):
            program_part = [] if mode == "env" else ["--", "sh", "-c", f"echo started; exit {status}"]
            ended = machine.plain(*command, *options, *words, *program_part)
            expect((ended.returncode, ended.stdout), (125, ""), f"result of {mode}: {ended.stderr}")
            yield mode, ended.stderr


def _expect_refused(machine, library, words, ways):
    os.environ["SIM"] = str(machine.build / "sim/libcuda.so.1")
    prefix = _install(machine)
    path = prefix / "lib" / library
    for name, (damage, said, remedy) in ways.items():
        damage(path)
        for mode, printed in _refusals(machine, prefix, words):
            where = f"{library} {name}, {mode}"
            expect(len(printed.splitlines()), 1, f"lines of {where}: {printed}")
            for part in (library, said, remedy):
                expect_in(part, printed, where)
            expect(machine.sessions(), [], f"sessions after {where}")
        expect_in(said, machine.plain(str(prefix / "bin/cudadiag"), "doctor").stdout, f"doctor, {library} {name}")
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        shutil.copy2(machine.build / "lib" / library, path)


def damaged_recorder_is_refused_with_its_remedy(machine):
    _expect_refused(machine, RECORDER, [], DAMAGE)


def damaged_preload_library_is_refused_with_its_remedy(machine):
    ways = ("missing", "text", "half", "last byte cut", "another processor", "another version", "another library")
    _expect_refused(machine, PRELOAD, ["--once"], {name: DAMAGE[name] for name in ways})
    path = machine.folder / "install/lib" / PRELOAD
    path.unlink()
    machine.plan("")
    done = machine.plain(str(machine.folder / "install/bin/cudadiag"), "run", "--", machine.build / "targets/healthy")
    expect((done.returncode, done.stderr), (0, ""), "result without --once")


def recorder_that_is_not_accessible_is_refused_with_its_remedy(machine):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("only root can become another user, with setpriv")
    prefix = _install(machine)
    machine.folder.chmod(0o755)
    machine.wrapper = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"]
    for path, said, remedy in ((prefix / "lib" / RECORDER, "is not readable by this user", "chmod a+r "),
                               (prefix / "lib", "cannot be entered by this user", "chmod a+x ")):
        mode = path.stat().st_mode
        path.chmod(0)
        for words in (["run", "-q", "--", "true"], ["races", "--", "false"], ["env"]):
            ended = machine.plain(*machine.wrapper, str(prefix / "bin/cudadiag"), *words)
            expect(ended.returncode, 125, f"status, with stderr {ended.stderr}")
            for part in (str(path) + " " + said, remedy + str(path)):
                expect_in(part, ended.stderr, str(words))
        path.chmod(mode)


def recorder_on_a_file_system_without_execution_is_refused(machine):
    prefix = _install(machine)
    fixed = (f"mount -t tmpfs -o noexec none {prefix}/lib && cp {machine.build}/lib/libcudadiag_*.so {prefix}/lib "
             "|| exit 77")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        skip("mounts are not allowed here")
    ended = machine.plain("unshare", "--mount", "sh", "-c", fixed + '; exec "$@"', "sh", str(prefix / "bin/cudadiag"), "run", "--", "true")
    expect(ended.returncode, 125, f"status, with stderr {ended.stderr}")
    expect_in("is mounted with noexec", ended.stderr, "what is said")


def broken_profiler_plugin_is_left_out(machine):
    plugin = machine.folder / "libnccl-profiler-own.so"
    plugin.write_bytes((machine.build / "sim/libcuda.so.1").read_bytes()[:5000])
    machine.environment["NCCL_PROFILER_PLUGIN"] = str(plugin)
    ended = machine.run("sh", "-c", 'test -z "$CUDADIAG_NCCL_PROFILER"', options=["--nccl"])
    expect(ended.returncode, 0, f"status, with stderr {ended.stderr}")
    expect_in(f"running without NCCL's profiler plugin: {plugin} is truncated", ended.stderr, "what is said")
    expect_in("; correct NCCL_PROFILER_PLUGIN\n", ended.stderr, "remedy")
    expect_in(f"{plugin} is truncated", machine.cudadiag("doctor").stdout, "doctor")


# Ways of keeping the recorder from a process that uses the GPU.

class Way(typing.NamedTuple):
    said: str
    remedy: str
    command: typing.Callable = lambda machine, app: app
    options: tuple = ()
    plan: str = ""
    afterwards: bool = False  # said when the program has ended
    root: bool = False


def _before(*words):
    return lambda machine, app: [*words, *app]


def _cleared(machine, app):
    return ["env", "-i", *app]


def _hidden(machine, app):
    return ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {machine.folder}/install/lib; exec "$@"', "sh", *app]


LACKS, KEEP = "its environment lacks cudadiag's variables", "start cudadiag where the environment is complete"
INJECTION = "CUDA_INJECTION64_PATH was "
IN_PYTHON = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], env={}).returncode)"
WAYS = {
    "env -i": Way(LACKS, KEEP, _cleared),
    "env -i but for PATH": Way(LACKS, KEEP, _before("env", "-i", "PATH=/usr/bin:/bin")),
    "clears its own": Way(LACKS, KEEP, lambda machine, app: [*app, "again"]),
    "env={} in Python": Way(LACKS, KEEP, _before(sys.executable, "-c", IN_PYTHON)),
    "background": Way(LACKS, KEEP, _before("sh", "-c", 'env -i "$@" & wait $!', "sh")),
    "another session": Way(LACKS, KEEP, _before("setsid", "-w", "env", "-i")),
    "no place": Way(LACKS, KEEP, _before("env", "-u", "CUDADIAG_ARENA", "-u", "CUDADIAG_SESSION")),
    "unset": Way(INJECTION + "removed", "libcudadiag_record.so in it", _before("sh", "-c", 'unset CUDA_INJECTION64_PATH; exec "$@"', "sh")),
    "emptied": Way(INJECTION + "removed", "libcudadiag_record.so in it", _before("env", "CUDA_INJECTION64_PATH=")),
    "replaced": Way(INJECTION + "changed to /opt/tool.so", "libcudadiag_record.so in it", _before("env", "CUDA_INJECTION64_PATH=/opt/tool.so")),
    "refused by the driver": Way("the CUDA driver did not load the recorder", "cudadiag doctor", plan="injection=refused"),
    "another user": Way(f"it runs as user {NOBODY}", "start cudadiag as that user", _before("setpriv", f"--reuid={NOBODY}", "--clear-groups"), root=True),
    "hidden": Way("is not visible in its root folder or mount namespace", "start cudadiag there", _hidden, root=True),
    "once: LD_PRELOAD unset": Way("LD_PRELOAD was removed", "libcudadiag_preload.so in it", _before("env", "-u", "LD_PRELOAD"), ("--once",)),
    "once: LD_PRELOAD replaced": Way("LD_PRELOAD was changed to libm.so.6", "libcudadiag_preload.so in it", _before("env", "LD_PRELOAD=libm.so.6"), ("--once",)),
    "once: env -i": Way(LACKS, KEEP, _cleared, ("--once",)),
    "turned off": Way("nothing was recorded: ", "use --watch-by=hooks", options=("--watch-by=cupti",), plan="cupti=held", afterwards=True),
    "little address space": Way("nothing was recorded for a process", "(ulimit -v)", _before("sh", "-c", 'ulimit -v 143360; exec "$@"', "sh"), afterwards=True),
    "little memory": Way("nothing was recorded for a process", "(ulimit -d)", _before("sh", "-c", 'ulimit -d 12288; exec "$@"', "sh"), afterwards=True),
}


def _ways(machine):
    """Yields the ways that this machine allows, with a status for the program."""
    root = os.geteuid() == 0 and shutil.which("setpriv") and not subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode
    for name, way in WAYS.items():
        if way.root and not root:
            print(f"left out: {name}: this needs root, setpriv and mounts")
            continue
        machine.plan(way.plan)
        for status in (0, 1):
            yield name, way, status


def _watched(machine, words, command, way):
    """Runs the command. The program ends once its message has appeared, or when there is none for 20 seconds."""
    gate = machine.folder / "gate"
    gate.unlink(missing_ok=True)
    os.mkfifo(gate)
    gate.chmod(0o644)
    held = os.open(gate, os.O_RDWR)
    with machine.start(str(machine.folder / "install/bin/cudadiag"), *words, "--", *command) as process:
        printed = b""
        while not way.afterwards and way.said.encode() not in printed:
            if not select.select([process.stderr], [], [], 20)[0]:
                break
            piece = os.read(process.stderr.fileno(), 4096)
            if not piece:
                break
            printed += piece
        os.close(held)
        printed += process.stderr.buffer.read()
        return process.wait(), printed.decode()


def _expect_named(machine, mode, options):
    _install(machine)
    machine.folder.chmod(0o755)
    out = machine.folder / "out.json"
    for name, way, status in _ways(machine):
        if mode == "races" and "--once" in way.options:
            continue
        app = [str(machine.build / "targets/uses_gpu"), str(machine.folder / "gate"), str(status)]
        words = [*options, *way.options, "--json", str(out)]
        returned, printed = _watched(machine, words, way.command(machine, app), way)
        where = f"{name}, status {status}, {mode}"
        for part in (way.said, way.remedy):
            expect_in(part, printed, where)
        expect(printed.count(way.said), 1, f"messages of {where}: {printed}")
        expect(returned, 9 if mode == "gate" else status, f"status of {where}")
        expect(json.loads(out.read_text())["verdict"], "inconclusive", f"verdict of {where}")


def process_kept_from_the_recorder_is_named(machine):
    _expect_named(machine, "plain", ["run", "--rerun=never"])


def process_kept_from_the_recorder_is_named_quietly(machine):
    _expect_named(machine, "quiet", ["run", "-q", "--rerun=never"])


def process_kept_from_the_recorder_fails_a_gate(machine):
    _expect_named(machine, "gate", ["run", "-q", "--rerun=never", "--error-exitcode=9"])


def run_that_can_record_nothing_fails_a_gate(machine):
    script = 'ulimit -f 100; exec "$@"'
    gate = machine.plain("sh", "-c", script, "sh", *machine.command("run", "--error-exitcode=9", "--", machine.build / "targets/healthy"))
    expect_in("running without recording: ", gate.stderr, "message")
    expect(gate.returncode, 9, "status")


def process_kept_from_the_recorder_is_named_in_races(machine):
    _expect_named(machine, "races", ["races"])


def process_that_uses_a_gpu_only_for_a_moment_is_named(machine):
    _install(machine)
    machine.plan("injection=refused")
    gate = machine.folder / "gate"
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    with machine.start(str(machine.folder / "install/bin/cudadiag"), "run", "--rerun=never", "--json", str(machine.folder / "out.json"),
                       "--", str(machine.build / "targets/uses_gpu"), str(gate), "0") as process:
        def waits():
            """Returns how often each thread of cudadiag has waited. It checks the processes after each wait."""
            found = {}
            for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status"):
                with contextlib.suppress(OSError):  # threads end
                    found[task] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", task.read_text(), re.M)[1])
            return found
        def has_context():
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):  # other processes come and go
                    if str(gate) in (folder / "cmdline").read_text() and "/nvidia-uvm" in (folder / "maps").read_text():
                        return True
            return False
        while not has_context():
            pass
        before = waits()
        while all(count < before.get(task, count) + 3 for task, count in waits().items()):
            pass
        os.close(held)
        printed = process.stderr.read()
    expect_in(WAYS["refused by the driver"].said, printed, "message")
    expect(json.loads((machine.folder / "out.json").read_text())["verdict"], "inconclusive", "verdict")


def process_kept_from_the_recorder_leaves_a_session_that_says_so(machine):
    prefix = _install(machine)
    machine.folder.chmod(0o755)
    for name, way, status in _ways(machine):
        app = [str(machine.build / "targets/uses_gpu"), "/dev/null", str(status)]
        exports = machine.plain(str(prefix / "bin/cudadiag"), "env", *way.options).stdout
        expect(machine.plain("sh", "-c", exports + 'exec "$@"', "sh", *way.command(machine, app)).returncode, status, f"status, {name}")
        shown = machine.cudadiag("report")
        said = ("nothing was recorded", "nothing has been recorded", "cannot tell whether CUDA failed in this session")
        assert any(part in shown.stdout + shown.stderr for part in said), (name, shown.stdout, shown.stderr)
        shutil.rmtree(machine.state)


def process_whose_operators_are_not_checked_is_named(machine):
    _install(machine)
    app = [str(machine.build / "targets/uses_gpu"), str(machine.folder / "gate"), "0"]
    for words in (["nans", "-q"], ["races", "-q", "--tensors"]):
        for command, said in ((["env", "-i", *app], LACKS), (app, "its operators are not checked")):
            returned, printed = _watched(machine, [*words, "--error-exitcode=9"], command, Way(said, ""))
            expect_in(said, printed, f"{words}, {command}")
            expect(returned, 9, f"status of {words}, {command}: {printed}")


def program_without_a_gpu_gets_a_message_only_if_it_fails(machine):
    lacks_driver = "import ctypes, sys\ntry: ctypes.CDLL('libcuda.so.1')\nexcept OSError: sys.exit(int(sys.argv[1]))"
    only_links = "import ctypes, sys; ctypes.CDLL('libcuda.so.1'); sys.exit(int(sys.argv[1]))"
    only_opens = f"import sys; files = [open({str(machine.build / 'sim/dev')!r} + '/nvidia' + name) for name in ('0', '-uvm')]; sys.exit(int(sys.argv[1]))"
    uses = str(machine.build / "targets/uses_gpu")
    commands = [["sh", "-c", "echo a | grep b"], ["sh", "-c", "kill -PIPE $$"], [machine.build / "targets/no_cuda"],
                ["env", "CUDA_VISIBLE_DEVICES=", uses, "/dev/null", "0"], ["env", "CUDA_VISIBLE_DEVICES=-1", uses, "/dev/null", "0"]]
    for status in "0", "1", "3":
        ends = f"exit {status}"
        commands += [["sh", "-c", ends], ["env", "-i", "sh", "-c", ends], ["setsid", "-w", "sh", "-c", ends],
                     ["env", "CUDA_INJECTION64_PATH=", "sh", "-c", ends], ["sh", "-c", f"true & wait; {ends}"],
                     [sys.executable, "-c", only_links, status], [sys.executable, "-c", only_opens, status],
                     ["env", "LD_LIBRARY_PATH=", sys.executable, "-c", lacks_driver, status]]
    machine.plan("")
    for command in commands:
        plain = machine.plain(*command)
        for options in ([], ["-q"], ["--error-exitcode=9"]):
            recorded = machine.run(*command, options=options)
            said = NO_CALL if plain.returncode > 0 and options != ["-q"] else ""
            expect((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr + said),
                   f"result of {command}, {options}")
            expect(machine.sessions(), [], f"sessions after {command}")


def failed_start_of_cuda_is_no_silence(machine):
    machine.plan("devices=0")
    expect(machine.run(machine.build / "targets/healthy").stderr, "cudadiag: the program could not use CUDA: cuInit returned 100; "
           "check that nvidia-smi works for this user and that CUDA_VISIBLE_DEVICES names a GPU\n", "without a GPU")
    machine.plan("")
    (machine.folder / "cuda.py").symlink_to(HERE / "programs/cuda.py")
    file = machine.folder / "asks.py"
    file.write_text("import ctypes, cuda\ncuda.check(cuda.driver.cuInit(0))\ncuda.check(cuda.driver.cuDeviceGet(ctypes.byref(ctypes.c_int()), 7))\n")
    for way in "hooks", "cupti":
        machine.run(sys.executable, file, options=[f"--watch-by={way}"])
        finding = machine.report()["findings"][0]
        expect((finding["error"]["code"], finding["location"]["line"]), (101, 3), f"a device that does not exist, by {way}")


def recorded_program_gets_no_message_about_its_recording(machine):
    for name in targets.CLEAN:
        machine.plan(targets.plan(name))
        command = targets.command(machine.build, name)
        plain = machine.plain(*command)
        recorded = machine.run(*command, options=["--error-exitcode=9"])
        expect(recorded.returncode, plain.returncode, f"status of {name}: {recorded.stderr}")
        assert "not recorded" not in recorded.stderr and "nothing was recorded" not in recorded.stderr, recorded.stderr
    machine.plan("")
    waits = Way("", "")
    _install(machine)
    gate = str(machine.folder / "gate")
    for command in ([str(machine.build / "targets/uses_gpu"), gate, "0"], ["unshare", "--pid", "--fork", str(machine.build / "targets/uses_gpu"), gate, "0"]):
        returned, printed = _watched(machine, ["run"], command, waits)
        expect((returned, printed), (0, ""), f"result of {command}")


def process_whose_driver_starts_slowly_is_not_called_unrecorded(machine):
    machine.plan("start=1500; " + targets.plan("third_of_ten"))
    for way in "hooks", "cupti":
        recorded = machine.run(machine.build / "targets/third_of_ten", options=["--rerun=never", f"--watch-by={way}"])
        assert "not recorded" not in recorded.stderr, recorded.stderr
        expect(machine.report()["verdict"], "cuda_failure", f"verdict by {way}")


def process_that_uses_cuda_after_the_command_is_named_with_its_recording(machine):
    machine.plan(targets.plan("third_of_ten"))
    gate = machine.folder / "gate"
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    app, done = str(machine.build / "targets/third_of_ten"), machine.folder / "done"
    os.mkfifo(done)
    ended = machine.run("sh", "-c", '(cat "$0" >/dev/null; "$1" >/dev/null 2>&1; : >"$2") >/dev/null 2>&1 & exit 0', str(gate), app, str(done))
    expect(ended.returncode, 0, "status")
    (line,) = ended.stderr.splitlines()
    expect_in("still running when the command exited", line, "what is said")
    os.close(held)
    done.read_text()  # waits for the end of the program
    session = line.rpartition(" ")[2]
    report = json.loads(machine.cudadiag("report", "--json", session).stdout)
    expect(report["verdict"], "cuda_failure", "verdict of the named session")
