#!/usr/bin/env python3
"""What libcudadiag_record.so exports to the process that loads it, and what it requires of that process.

Usage: recorder.py READELF LIBRARY. Prints what is wrong, one line each, and exits 1 if anything is.
"""
import re
import subprocess
import sys

EXPORTS = {"InitializeInjection", "cudadiag_follow_driver", "cudadiag_graph_words",
           *(f"ncclProfiler_v{n}" for n in range(1, 7))}
LIBRARIES = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d+$|ld-linux.*\.so\.\d+$")
NEWEST_GLIBC = (2, 34)  # the version that a build on Debian 12 or Ubuntu 22.04 requires
MOST_THREAD_DATA = 128  # bytes; the dynamic linker keeps 512 for all libraries that are loaded late


def dynamic_symbols(listing):
    """Yields (name, version, defined) of each global symbol in `readelf --dyn-syms`."""
    for line in listing.splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[0].rstrip(":").isdigit() and columns[4] in ("GLOBAL", "WEAK", "UNIQUE"):
            name, _, version = columns[7].replace("@@", "@").partition("@")
            yield name, version, columns[6] != "UND"


def check(symbols, needed):
    exports = {name for name, _, defined in symbols if defined}
    for name in sorted(exports - EXPORTS):
        yield f"exports {name}, which could shadow a symbol of the target"
    for name in sorted(EXPORTS - exports):
        yield f"does not export {name}, which the driver or NCCL looks for"
    for library in needed:
        if not LIBRARIES.match(library):
            yield f"needs {library}, which the target may not have, or have another of"
    for name, version, defined in symbols:
        glibc = re.match(r"GLIBC_(\d+)\.(\d+)", version)
        if not defined and glibc and tuple(map(int, glibc.groups())) > NEWEST_GLIBC:
            yield f"asks for {name}@{version}, newer than {'.'.join(map(str, NEWEST_GLIBC))}"
        if re.match(r"GLIBCXX|CXXABI", version):
            yield f"asks for {name}@{version}: the C++ runtime must be linked statically"


def check_thread_data(headers):
    sizes = [int(line.split()[5], 16) for line in headers.splitlines() if line.split()[:1] == ["TLS"]]
    if sum(sizes) > MOST_THREAD_DATA:
        yield f"keeps {sum(sizes)} bytes of each thread's own: too much to be found at once, as every callback does"


def main():
    readelf, library = sys.argv[1:]

    def read(*options):
        return subprocess.run([readelf, "--wide", *options, library], check=True, capture_output=True, text=True).stdout

    symbols = list(dynamic_symbols(read("--dyn-syms")))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", read("--dynamic"))
    wrong = [*check(symbols, needed), *check_thread_data(read("--program-headers"))]
    newest = max((tuple(map(int, m.groups())) for _, version, _ in symbols
                  if (m := re.match(r"GLIBC_(\d+)\.(\d+)", version))), default=(0, 0))
    print("\n".join(wrong) if wrong else f"needs {', '.join(needed)}; newest symbol GLIBC_{newest[0]}.{newest[1]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
