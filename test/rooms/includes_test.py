#!/usr/bin/env python3
"""Creates each violation in a separate tree, and checks that includes.py reports it."""
import pathlib
import tempfile
import unittest

import includes


class Includes(unittest.TestCase):
    def complaints(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return list(includes.check(pathlib.Path(folder)))

    def assert_refused(self, name, text, because):
        found = self.complaints(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(because, found[0])

    def test_allowed(self):
        self.assertEqual(self.complaints("lib/report/text.h", '#include <string>\n#include "analyse/analysis.h"\n'), [])
        self.assertEqual(self.complaints("lib/record/a.cc", "#include <cupti.h>\n#include <sys/mman.h>\n"), [])
        self.assertEqual(self.complaints("lib/record/a.cc", "#include <unwind.h>\n"), [])
        self.assertEqual(self.complaints("lib/report/json.cc", "#include <nlohmann/json.hpp>\n"), [])
        self.assertEqual(self.complaints("lib/report/json_schema.h", "#include <nlohmann/json.hpp>\n"), [])
        self.assertEqual(self.complaints("lib/report/json.cc", '#include "report/json_schema.h"\n'), [])

    def test_rooms(self):
        self.assert_refused("lib/session/a.cc", '#include "analyse/analysis.h"\n', "session may include base, wire")
        self.assert_refused("lib/sass/a.h", '#include "report/text.h"\n', "sass may include no other room")
        self.assert_refused("lib/diagnose/causes/a.h", '#include "diagnose/status.h"\n', "causes may include diagnose/facts, session, symbolize, wire")
        self.assert_refused("lib/wire/a.h", '#include "session/session.h"\n', "wire may include no other room")
        self.assert_refused("lib/launch/a.cc", '#include "cmd/run.h"\n', "nothing includes cmd")
        self.assert_refused("cmd/a.cc", '#include "record/rings.h"\n', "nothing outside uses the recorder")
        self.assert_refused("lib/report/a.cc", '#include "text.h"\n', "starts with a room")

    def test_folders_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder) / "cmd"
            for name, included in {"run/report.cc": "commands/list.h", "commands/list.h": "run/report.h", "run/report.h": "terminal.h",
                                   "terminal.h": "sessions/choice.h", "sessions/choice.h": "terminal.h",
                                   "main.cc": "commands/list.h"}.items():
                (command / name).parent.mkdir(parents=True, exist_ok=True)
                (command / name).write_text(f'#include "{included}"\n')
            self.assertEqual(list(includes.check(pathlib.Path(folder))), [
                'cmd/run/report.cc: includes "commands/list.h": run may include run, sessions',
                'cmd/terminal.h: includes "sessions/choice.h": the command may include no folder'])

    def test_folders_of_the_recorder(self):
        self.assert_refused("lib/record/output/a.cc", '#include "record/calls/call_rules.h"\n', "record/output may include no other folder")
        self.assert_refused("lib/record/memory/a.h", '#include "record/hooks/hooks.h"\n', "may include calls, graphs, operations, output")
        self.assert_refused("lib/record/graphs/a.cc", '#include "record/recorder.h"\n', "record/graphs may include")
        self.assertEqual(self.complaints("lib/record/output/a.cc", '#include "record/driver_api.h"\n'), [])
        self.assertEqual(self.complaints("lib/record/a.cc", '#include "record/recorder.h"\n'), [])

    def test_circles(self):
        files = {"lib/races/a.h": "races/b.h", "lib/races/b.cc": "races/c.h", "lib/races/b.h": "races/b.h", "lib/races/c.h": "races/d.h",
                 "lib/races/d.h": "", "cmd/run/one.cc": "run/two.h", "cmd/run/one.h": "", "cmd/run/two.h": "run/one.h"}
        with tempfile.TemporaryDirectory() as folder:
            def check(more):
                for name, included in {**files, **more}.items():
                    (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    (pathlib.Path(folder) / name).write_text(f'#include "{included}"\n')
                return list(includes.circles(pathlib.Path(folder)))
            pair = "cmd/run/one: is in a circle of includes: cmd/run/one > cmd/run/two > cmd/run/one"
            self.assertEqual(check({}), [pair])
            self.assertEqual(check({"lib/races/d.h": "races/a.h"}), [
                pair, "lib/races/a: is in a circle of includes: lib/races/a > lib/races/b > lib/races/c > lib/races/d > lib/races/a"])
            (excused, other), *_ = sorted(includes.MAY_CLOSE)
            self.assertEqual(check({f"{other}.h": f"{excused}.h".removeprefix("lib/"), f"{excused}.h": f"{other}.h".removeprefix("lib/")}),
                             [pair])

    def test_foreign(self):
        self.assert_refused("lib/wire/a.h", "#include <unistd.h>\n", "standard library alone")
        self.assert_refused("lib/record/a.cc", "#include <fmt/format.h>\n", "the recorder knows")
        self.assert_refused("lib/record/a.cc", "#include <libunwind.h>\n", "the recorder knows")
        self.assert_refused("lib/report/a.h", "#include <nlohmann/json.hpp>\n", "stay out of lib headers")
        self.assert_refused("lib/report/a.h", '#include "report/json_schema.h"\n', "of its room alone")
        self.assert_refused("lib/report/a.cc", '#include "session/json_fields.h"\n', "of its room alone")

    def test_analyses(self):
        call = "const auto found = analyse::analyse(session);\n"
        self.assert_refused("lib/supervise/a.cc", call, "take the analysis from diagnose::SessionState")
        self.assertEqual(self.complaints(includes.ANALYSES, call), [])

    def test_table(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text("Rooms\n" + includes.TABLE_BEGIN + includes.table() + includes.TABLE_END)
            self.assertEqual(list(includes.complaints_about_table(readme)), [])
            readme.write_text(readme.read_text().replace("| `lib/wire` |", "| `lib/wires` |"))
            self.assertEqual(len(list(includes.complaints_about_table(readme))), 1)

    def test_every_room_is_in_the_table(self):
        self.assertEqual(set(includes.ROOMS), set(includes.MAY_INCLUDE) | {"cmd"})

    def test_links(self):
        self.assert_refused("cmd/CMakeLists.txt",
                            "target_link_libraries(cudadiag PRIVATE\n  cudadiag_record)\n", "links the recorder")


if __name__ == "__main__":
    unittest.main()
