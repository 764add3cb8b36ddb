#!/usr/bin/env python3
"""The hook's package: loaded from memory, as the recorder does it, and imported, as a linter or a debugger does it."""
import importlib
import importlib.util
import pathlib
import sys
import tempfile
import types
import unittest

from hook import ROOT, Hook, files, sources


class Load(unittest.TestCase):
    def test_the_target_finds_no_module_of_the_package(self):
        before = set(sys.modules)
        Hook().load().suspect_settings
        self.assertEqual({name for name in set(sys.modules) - before if "hook" in name}, set())

    def test_a_module_of_the_target_takes_no_ones_place(self):
        for name in ("tensors", "recorder", "cudadiag_hook", "cudadiag_hook.tensors"):
            sys.modules[name] = types.ModuleType(name)
            self.addCleanup(sys.modules.pop, name)
        self.assertTrue(hasattr(Hook().load().tensors, "is_tensor"))

    def test_all_code_has_the_file_name_by_which_the_recorder_knows_it(self):
        package = Hook().load()
        file = type(package).module.__code__.co_filename
        for name in sources():
            names = vars(package.module(name))
            for value in list(names.values()):
                if isinstance(value, types.FunctionType) and value.__globals__ is names:
                    self.assertIs(value.__code__.co_filename, file)

    def test_a_recorder_takes_over_the_package_that_was_started_before_it(self):
        sys._cudadiag_hook = package = Hook().load()
        names = {"sources": {}, "given": {"lines": "", "failed": lambda: "the recorder's"}}
        exec(compile((ROOT / "load.py").read_text(), "<cudadiag>", "exec"), names)
        self.assertIs(names["package"], package)
        self.assertEqual(package.recorder.failed(), "the recorder's")
        self.assertIs(package.file, type(package).module.__code__.co_filename)
        self.assertFalse(hasattr(sys, "_cudadiag_hook"))

    def test_a_module_that_does_not_exist_is_an_error(self):
        package = Hook().load()
        with self.assertRaises(AttributeError):
            package.no_such_module

    def test_modules_and_folders_have_names_of_their_own(self):
        names = [file.stem for file in files()] + [folder.name for folder in {file.parent for file in files()}]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_a_program_may_look_for_torch_before_it_imports_it(self):
        loaded = sys.modules.pop("torch", None)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("ready = True")
            before, begun = list(sys.meta_path), []
            sys.path.insert(0, folder)
            try:
                importlib.invalidate_caches()
                Hook().load().whole_program.when_torch_is_there(lambda: begun.append(sys.modules["torch"].ready))
                for _ in range(2):
                    spec = importlib.util.find_spec("torch")
                    self.assertEqual(spec.loader.get_source("torch"), "ready = True")
                self.assertEqual(begun, [])
                made = importlib.import_module("torch")
                self.assertEqual((begun, sys.meta_path), ([True], before))
                self.assertIs(made.__spec__.loader, made.__loader__)
                self.assertEqual(type(made.__loader__).__module__, type(spec.loader.loader).__module__)
            finally:
                sys.path.remove(folder)
                sys.meta_path[:] = before
                sys.modules.pop("torch", None)
                if loaded is not None:
                    sys.modules["torch"] = loaded

    def test_it_is_an_importable_package(self):
        sys.path.insert(0, str(ROOT))
        self.addCleanup(sys.path.remove, str(ROOT))
        for file in files():
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            importlib.import_module(name)
            self.addCleanup(sys.modules.pop, name, None)


if __name__ == "__main__":
    unittest.main()
