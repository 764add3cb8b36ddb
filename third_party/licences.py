#!/usr/bin/env python3
"""licences.py FOLDER VERSION: writes the licence text of each library that is linked into the program,
and sbom.json (CycloneDX 1.5), from the Debian packages with which it was built."""

import json
import pathlib
import shutil
import subprocess
import sys

# Each package, and the SPDX name of the licence of its code in our binaries.
LINKED = {
    "libcli11-dev": "BSD-3-Clause",
    "nlohmann-json3-dev": "MIT",
    "libboost-filesystem1.74-dev": "BSL-1.0",
    "libfmt-dev": "MIT",
    "libdw-dev": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libelf-dev": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libiberty-dev": "LGPL-2.1-or-later",
    "liblzma-dev": "LicenseRef-public-domain",
    "libbz2-dev": "bzip2-1.0.6",
    "zlib1g-dev": "Zlib",
    "libzstd-dev": "BSD-3-Clause",
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
}

# Licence texts to which the packages' own texts refer.
COMMON = ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3")


def version_of(package):
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${source:Package}\n", package],
                           capture_output=True, text=True)
    if not asked.stdout.split():
        sys.exit(f"{package} is not installed: packages are built on Debian 12")
    return asked.stdout.splitlines()[0].split()


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    components = []
    for package, licence in LINKED.items():
        installed, source = version_of(package)
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{source}.txt")
        components.append({"type": "library", "name": source, "version": installed,
                           "licenses": [{"expression": licence}],
                           "purl": f"pkg:deb/debian/{source}@{installed}"})
    for name in COMMON:
        shutil.copy(f"/usr/share/common-licenses/{name}", folder / f"{name}.txt")
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "cudadiag", "version": version}},
            "components": components}
    (folder / "sbom.json").write_text(json.dumps(sbom, indent=2) + "\n")


if __name__ == "__main__":
    main()
