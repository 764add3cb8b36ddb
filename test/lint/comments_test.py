#!/usr/bin/env python3
"""Writes each kind of bad comment, and checks that comments.py reports it, and nothing else."""
import unittest

import comments

HEAD = "// A header.\n#pragma once\n\n#include <string>\n\nnamespace a {\n\n"


class Comments(unittest.TestCase):
    def complaints(self, text, head=HEAD):
        return list(comments.complaints(head + text, {"wire/area.h", "area.h"}.__contains__))

    def assert_refused(self, text, because, line=8):
        found = self.complaints(text)
        self.assertEqual([number for number, _ in found], [line], found)
        self.assertIn(because, found[0][1])

    def assert_allowed(self, text, head=HEAD):
        self.assertEqual(self.complaints(text, head), [])

    def test_stray(self):
        because = "without a declaration"
        self.assert_refused("// Reads the words.\n\nint f();\n", because)
        self.assert_refused("// Reads\n// words.\n\nint f();\n", because)
        self.assert_refused("class A {\n  // Reads the words.\n\n  int f();\n};\n", because, 9)
        self.assert_refused("class A {\n  int f();\n  // Reads the words.\n};\n", because, 10)
        self.assert_refused("// Reads the words.\n}  // namespace a\n", because)
        self.assert_refused("// Reads the words.\n", because)
        self.assert_refused("// Reads the words.", because)

    def test_attached(self):
        self.assert_allowed("// Reads the words.\nint f();\n")
        self.assert_allowed("// ---- words\n\nint f();\n")
        self.assert_allowed("// ---- words\n//\n// There are many.\n\nint f();\n")
        self.assert_allowed("int a;  // a number that is\n        // not large\n        // at all\n\nint b;\n")
        self.assert_allowed("void f() {\n  try {\n  } catch (...) {\n    // It does not matter.\n  }\n}\n")
        self.assert_allowed('const char* text = R"(\n// Reads the words.\n\n)";\n')
        self.assert_allowed("\nint f();\n", head="// The first comment.\n\n#include <string>\n\n// Needs no C++ runtime.\n")

    def test_run_together(self):
        self.assert_refused("// Adds words.\n// Adds letters of one word.\nint f();\n", "ends early")
        self.assert_allowed("// Adds words.\n//\n// Adds letters of one word.\nint f();\n")
        self.assert_allowed("// Either\n// - it is.\n// Or not.\nint f();\n")
        self.assert_allowed("// Adds two words" + " and a word" * 9 + ".\n// Adds letters.\nint f();\n")

    def test_paths(self):
        self.assert_refused("// See names/area.h.\nint f();\n", "names names/area.h")
        self.assert_refused("int a;  // see words.h\n", "names words.h")
        self.assert_refused('const char* text = "https://"; int b = 20\'000;  // see wire/words.py, don\'t\n', "words.py")
        self.assert_allowed("// See wire/area.h, area.h, lib/README.md, train.py and <sys/mman.h>.\nint f();\n")
        self.assert_allowed('// Returns "words.h:14,\n// a".\nint f();\n')
        self.assert_allowed('const char* text = "// see words.h";\n')

    def test_width(self):
        self.assert_refused("// " + "word " * 24 + "\nint f();\n", "120 columns")
        self.assert_allowed("// " + "word " * 22 + "\nint f();\n")
        self.assert_allowed("// https://" + "word/" * 24 + "\nint f();\n")


if __name__ == "__main__":
    unittest.main()
