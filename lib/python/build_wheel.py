#!/usr/bin/env python3
"""build_wheel.py PREFIX VERSION MACHINE FOLDER: packs the contents of PREFIX, and the Python package next to this file,
into a wheel in FOLDER. The same input always produces the same bytes."""

import base64
import hashlib
import pathlib
import stat
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIME = (2020, 1, 1, 0, 0, 0)

METADATA = """\
Metadata-Version: 2.1
Name: cudadiag
Version: {version}
Summary: Finds the operation and the source line of a CUDA failure
License: Apache-2.0
Keywords: CUDA,GPU,debugging,PyTorch,pytest
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Framework :: Pytest
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.9
Provides-Extra: device
Requires-Dist: nvidia-cuda-nvdisasm ; extra == 'device'
License-File: LICENSE
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: cudadiag
Root-Is-Purelib: false
Tag: {tag}
"""

ENTRY_POINTS = """\
[pytest11]
cudadiag = cudadiag.pytest_plugin
"""


class Wheel:
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, TIME)
        entry.external_attr = (stat.S_IFREG | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record):
        self.record.append(f"{record},,")
        content = "\n".join(self.record) + "\n"
        self.record = []
        self.add(record, content.encode())
        self.archive.close()


def main():
    prefix, version, machine, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    tag = f"py3-none-manylinux_2_28_{machine}"
    path = folder / f"cudadiag-{version}-{tag}.whl"
    wheel = Wheel(path)
    for source in sorted((HERE / "cudadiag").iterdir()):
        if source.suffix in (".py", ".md"):
            wheel.add(f"cudadiag/{source.name}", source.read_bytes())
    data, information = f"cudadiag-{version}.data", f"cudadiag-{version}.dist-info"
    for source in sorted(prefix.rglob("*")):
        name = source.relative_to(prefix)
        if not source.is_file() or name.parts[:2] == ("share", "doc"):
            continue
        if name.parts[0] == "bin":
            wheel.add(f"{data}/scripts/{name.name}", source.read_bytes(), 0o755)
        else:
            wheel.add(f"{data}/data/{name}", source.read_bytes(), 0o755 if source.suffix == ".so" else 0o644)
    third_party = prefix / "share/doc/cudadiag/third_party"
    for source in sorted(third_party.iterdir()) if third_party.is_dir() else ():
        wheel.add(f"{information}/licenses/third_party/{source.name}", source.read_bytes())
    wheel.add(f"{information}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    metadata = METADATA.format(version=version, description=(ROOT / "README.md").read_text(encoding="utf-8"))
    wheel.add(f"{information}/METADATA", metadata.encode())
    wheel.add(f"{information}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.add(f"{information}/WHEEL", WHEEL.format(tag=tag).encode())
    wheel.close(f"{information}/RECORD")
    print(path)


if __name__ == "__main__":
    main()
