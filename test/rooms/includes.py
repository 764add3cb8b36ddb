#!/usr/bin/env python3
"""Which room may include which: checks every include under lib/ and cmd/, and the links in their CMakeLists.txt. No
includes may form a circle.

Usage: includes.py SOURCE_FOLDER. Prints what is wrong, one line each, and exits 1 if anything is.
       includes.py --table. Prints the table of rooms for lib/README.md.
"""
import pathlib
import re
import sys

# Besides itself, each room may include these rooms.
MAY_INCLUDE = {
    "base": set(),
    "wire": set(),
    "python": set(),
    "record": {"wire", "python"},
    "session": {"wire", "base"},
    "launch": {"session", "wire", "base"},
    "evidence": {"base"},
    "replay": {"session", "wire", "base"},
    "sass": set(),
    "symbolize": {"session", "evidence", "wire", "base"},
    "analyse": {"session", "wire", "base"},
    "races": {"sass", "session", "wire"},
    "diagnose/facts": {"analyse", "symbolize", "sass", "session", "base"},
    "diagnose/causes": {"diagnose/facts", "symbolize", "session", "wire"},
    "diagnose": {"analyse", "symbolize", "diagnose/facts", "diagnose/causes", "evidence", "sass", "session", "wire", "base"},
    "supervise": {"launch", "replay", "python", "session", "diagnose", "diagnose/facts", "analyse", "symbolize", "races", "evidence", "sass", "wire", "base"},
    "report": {"diagnose", "analyse", "symbolize", "diagnose/facts", "diagnose/causes", "evidence", "sass", "session", "wire", "base"},
}

# The same for the folders of the command, below cmd; main.cc may include all of them.
IN_COMMAND = {"": {""}, "sessions": {"", "sessions"}, "run": {"", "sessions", "run"}, "commands": {"", "sessions", "run", "commands"}}

# The same for the folders of the recorder. Its own folder has what all of them may include, but "recorder.h" is for
# recorder.cc and the entry points alone.
IN_RECORDER = {
    "output": set(),
    "stacks": {"operations", "output"},
    "hooks": {"calls", "rerun", "stacks"},
    "python": {"calls", "hooks", "operations", "output", "rerun", "stacks"},
    "calls": {"graphs", "operations", "output", "python"},
    "memory": {"calls", "graphs", "operations", "output"},
    "rerun": {"calls", "graphs", "memory", "operations", "output"},
    "graphs": {"calls", "memory", "operations", "output", "rerun"},
    "operations": {"calls", "graphs", "memory", "output", "python", "rerun", "stacks"},
}

# The only includes that may close a circle: of calls in both directions, and of a rerun with its watch.
MAY_CLOSE = {
    ("lib/record/rerun/node_saver", "lib/record/rerun/exclusive_wait"),
    ("lib/record/python/hook_loader", "lib/record/rerun/exclusive_wait"),
    ("lib/record/python/hook_loader", "lib/record/calls/failures"),
    ("lib/supervise/reruns/rerun", "lib/supervise/reruns/rerun_watch"),
}

# In the order of the table in lib/README.md: the stage, and one sentence for each room.
ROOMS = {
    "base": ("", "Small tools that several rooms need: descriptors, printable text, demangled names."),
    "wire": ("", "The layout of what the recorder writes. Recorder and readers include it."),
    "python": ("record", "The Python package that runs inside the user's process, and its text in our binaries."),
    "record": ("record", "`libcudadiag_record.so`, which runs inside the user's process."),
    "replay": ("run", "A saved kernel launch: its folder, and the child process that repeats it."),
    "launch": ("run", "The start of the command: environment, signals, shared memory, exit status, isolation."),
    "supervise": ("run", "One run and its reruns: what to watch, in which order, and when to stop. It prints nothing."),
    "session": ("read", "The folder of a run, and the readers of everything in it."),
    "evidence": ("read", "What the GPU and other tools report: core dumps, lines of device code, assertions, `cuda-gdb`, `compute-sanitizer`."),
    "sass": ("read", "The machine code of kernels: the parameters and bytes that it reads and writes, and the address of a failing instruction."),
    "symbolize": ("read", "Native and Python lines, and whose code a frame is. It also reads the device lines and the tool output of a session."),
    "analyse": ("diagnose", "The first failure, its candidates and grade; hangs, ranks, allocations."),
    "races": ("diagnose", "The order between streams, and the memory that each operation uses."),
    "diagnose/facts": ("diagnose", "The model: what a report says, and the parts that causes and writers share."),
    "diagnose/causes": ("diagnose", "The tables of causes, one file for each family."),
    "diagnose": ("diagnose", "The `Diagnosis` of one state of a session. `failure` has what failed and where, `unreported` the races and other findings that no call reports. Also the data of `status`."),
    "report": ("report", "The writers of a `Diagnosis` as text, JSON, SARIF and HTML."),
    "cmd": ("report", "The command: a recorded run and its output (`run`), the sessions that a user names (`sessions`), and the subcommands (`commands`)."),
}
TABLE_BEGIN, TABLE_END = "<!-- printed by test/rooms/includes.py --table -->\n", "<!-- end -->\n"

THIRD_PARTY = re.compile(
    r"(CLI|nlohmann|boost|doctest|elfutils|fmt|libiberty|benchmark)/|(libelf|gelf|dwarf|unwind|libunwind|zlib|lzma|Python)\.h")
CUDA = re.compile(r"(cuda|cupti|driver_types|generated_cuda).*\.h$")
# Wrappers that only the .cc files of their own room may include.
WRAPPERS = ("json_fields.h", "json_schema.h")
STANDARD = re.compile(r"[a-z_0-9]+$")  # <vector>: no suffix, no folder
LIBC = re.compile(
    r"(sys|linux|asm|arpa|netinet)/[a-z_0-9]+\.h$|"
    r"(dlfcn|elf|errno|fcntl|link|poll|pthread|sched|signal|stddef|stdint|stdio|stdlib|string|time|ucontext|unistd|cpuid|x86intrin|immintrin)"
    r"\.h$")

# Only SessionState may analyse a session, so that each state is analysed once.
ANALYSIS = re.compile(r"\banalyse::analyse\(")
ANALYSES = "lib/diagnose/session_state.cc"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    """Returns the room of a path below lib; a room may be inside another one."""
    parts = path.split("/")
    inner = "/".join(parts[:2])
    return inner if inner in MAY_INCLUDE and len(parts) > 2 else parts[0]


def complaints_about(room, file, text):
    for bracket, name in INCLUDE.findall(text):
        if bracket == '"':
            yield from complaints_about_own(room, file, name)
        else:
            yield from complaints_about_foreign(room, file, name)


def folder_above(file, name):
    return next(folder for folder in file.parents if folder.name == name)


def complaints_inside_command(file, name):
    folder = str(file.parent.relative_to(folder_above(file, "cmd"))).strip(".")
    other, allowed = name.rpartition("/")[0], IN_COMMAND.get(folder, set())
    if file.name != "main.cc" and other not in allowed:
        yield f'includes "{name}": {folder or "the command"} may include {", ".join(sorted(allowed - {""})) or "no folder"}'


def complaints_inside_recorder(file, name):
    folder = str(file.parent.relative_to(folder_above(file, "record"))).strip(".")
    other, allowed = name.removeprefix("record/").rpartition("/")[0], IN_RECORDER.get(folder, set())
    if folder and (name == "record/recorder.h" or other not in {"", folder} | allowed):
        yield f'includes "{name}": record/{folder} may include {", ".join(sorted(allowed)) or "no other folder"}'


def complaints_about_own(room, file, name):
    other = room_of(name)
    # Paths of the command's own files start below cmd.
    if room == "cmd" and (folder_above(file, "cmd") / name).exists():
        yield from complaints_inside_command(file, name)
    elif other == "cmd":
        yield f'includes "{name}": nothing includes cmd'
    elif other not in MAY_INCLUDE or "/" not in name:
        yield f'includes "{name}": a path that starts with a room is wanted'
    elif name.endswith(WRAPPERS) and (other != room or file.suffix == ".h"):
        yield f'includes "{name}": it is for the .cc files of its room alone'
    elif other == "record" and room != "record":
        yield f'includes "{name}": nothing outside uses the recorder'
    elif other == "record":
        yield from complaints_inside_recorder(file, name)
    elif room in MAY_INCLUDE and other != room and other not in MAY_INCLUDE[room]:
        yield f'includes "{name}": {room} may include {", ".join(sorted(MAY_INCLUDE[room])) or "no other room"}'


def complaints_about_foreign(room, file, name):
    if room == "wire" and not STANDARD.match(name):
        yield f"includes <{name}>: wire knows the standard library alone"
    elif room == "record" and not any(kind.match(name) for kind in (STANDARD, LIBC, CUDA)) and name != "unwind.h":
        yield f"includes <{name}>: the recorder knows the standard library, libc, CUDA headers and libgcc's unwinder"
    elif room not in ("record", "cmd") and file.suffix == ".h" and file.name not in WRAPPERS and THIRD_PARTY.match(name):
        yield f"includes <{name}>: third-party headers stay out of lib headers"


def analyses(name, text):
    if name != ANALYSES and ANALYSIS.search(text):
        yield f"calls analyse::analyse: take the analysis from diagnose::SessionState ({ANALYSES})"


def circles(source):
    """Finds files that include each other, also through others. A .cc file and its header count as one."""
    uses, done = {}, set()
    for file in (file for top in ("lib", "cmd") for file in (source / top).rglob("*") if file.suffix in (".h", ".cc")):
        unit = str(file.relative_to(source).with_suffix(""))
        found = {f"{top}/{name}" for _, name in INCLUDE.findall(file.read_text()) for top in ("lib", "cmd")}
        others = {name.removesuffix(".h") for name in found if name.endswith(".h") and (source / name).exists()}
        uses.setdefault(unit, set()).update(other for other in others - {unit} if (unit, other) not in MAY_CLOSE)

    def follow(unit, path):
        if unit in path:
            yield f"{unit}: is in a circle of includes: {' > '.join([*path[path.index(unit):], unit])}"
        elif unit not in done:
            for other in sorted(uses[unit]):
                yield from follow(other, [*path, unit])
            done.add(unit)

    for unit in sorted(uses):
        yield from follow(unit, [])


def links_to_recorder(text):
    for target in re.findall(r"target_link_libraries\(\s*(\S+)[^)]*\bcudadiag_record\b", text):
        if target != "cudadiag_record":
            yield f"{target} links the recorder: it is only ever opened by the driver"


def table():
    lines = ["| act | room | owns | may include |", "| --- | --- | --- | --- |"]
    for room, (act, owns) in ROOMS.items():
        folder = room if room == "cmd" else f"lib/{room}"
        others = "every room but `record`" if room == "cmd" else ", ".join(f"`{o}`" for o in sorted(MAY_INCLUDE[room]))
        lines.append(f"| {act} | `{folder}` | {owns} | {others} |")
    return "\n".join(lines) + "\n"


def complaints_about_table(file):
    text = file.read_text() if file.exists() else ""
    if TABLE_BEGIN + table() + TABLE_END not in text:
        yield "the table of rooms is not what test/rooms/includes.py --table prints"


def check(source):
    for top in ("lib", "cmd"):
        for file in sorted((source / top).rglob("*")):
            room = room_of(str(file.relative_to(source / top))) if top == "lib" else "cmd"
            if file.suffix in (".h", ".cc", ".S"):
                text, name = file.read_text(), str(file.relative_to(source))
                found = [*complaints_about(room, file, text), *analyses(name, text)]
            elif file.name == "CMakeLists.txt":
                found = links_to_recorder(file.read_text())
            else:
                continue
            for complaint in found:
                yield f"{file.relative_to(source)}: {complaint}"


def main():
    if sys.argv[1] == "--table":
        print(table(), end="")
        return 0
    source = pathlib.Path(sys.argv[1])
    wrong = [*check(source), *circles(source)] + [f"lib/README.md: {wrong}" for wrong in complaints_about_table(source / "lib/README.md")]
    print("\n".join(wrong) if wrong else "every include is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
