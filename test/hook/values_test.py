#!/usr/bin/env python3
"""The hook's Python sources with the interpreter alone: which lines they notice, and what they read from variables."""
import ast
import functools
import signal
import sys
import threading
import unittest
import warnings

from hook import Hook


class Array:
    def __init__(self, *shape):
        self.__cuda_array_interface__ = None
        self.shape = shape

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<i8", "data": (4096, False), "version": 3}

    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, _):
        pass


class Owner:
    touched = 0

    def __init__(self, x):
        self.x = x

    @property
    def trap(self):
        Owner.touched += 1
        return Array(1)

    def __getattr__(self, name):
        Owner.touched += 1
        raise AttributeError(name)


def launch(*_):
    pass


def plain(x, n):
    y = n + 1
    launch(x, n, y)  # SUSPECT
    return y


def attributes(owner, batch):
    launch(owner.x, owner.trap, owner.missing, batch["ids"], batch["none"])  # SUSPECT


def several_lines(x, y):
    launch(
        x,
        y)  # SUSPECT


def loop(count):
    for i in range(count):
        launch(i)  # SUSPECT


def outer(x):
    launch(inner(x), x)  # SUSPECT


def inner(x):
    launch(x)  # SUSPECT
    return x


def chooses(step, name, far):
    launch(step, name, far)  # SUSPECT


def says_nothing():
    launch("text")  # SUSPECT


def yields(x):
    yield launch(x)  # SUSPECT
    yield 2


def recursive(n):
    return n and recursive(n - 1)  # SUSPECT


def raises(x):
    launch(x, x.nothing)  # SUSPECT


def unwatched(x):
    launch(x)


class Values(unittest.TestCase):
    def tearDown(self):
        self.assertFalse(sys.gettrace())

    def watch(self, function, *arguments, watched=(), **options):
        hook = Hook(*(watched or [function]), **options).begin()
        try:
            function(*arguments)
        finally:
            hook.end()
        self.assertEqual(hook.notes, [])
        self.assertEqual(hook.package.visits.visits.places, [])
        return hook

    def test_arrays_and_numbers(self):
        (message,) = self.watch(plain, Array(8, 512), 3).messages
        self.assertEqual((message["kind"], message["file"]), ("line", plain.__code__.co_filename))
        self.assertEqual(message["line"], plain.__code__.co_firstlineno + 2)
        self.assertEqual(message["arguments"], [
            {"name": "x", "origin": "variable", "dtype": "<i8", "device": "cuda", "shape": [8, 512], "pointer": 4096},
            {"name": "n", "origin": "variable", "value": "3"}, {"name": "y", "origin": "variable", "value": "4"}])

    def test_no_code_of_the_target_runs(self):
        Owner.touched = 0
        hook = Hook(attributes).begin()
        try:
            attributes(Owner(Array(2)), {"ids": Array(3), "none": None})
        except AttributeError:
            pass
        hook.end()
        self.assertEqual([about["name"] for about in hook.messages[0]["arguments"]], ["owner.x", "batch['ids']"])
        self.assertEqual(Owner.touched, 2)  # touched by the line itself, not by the hook

    def test_a_statement_of_several_lines(self):
        names = [about["name"] for about in self.watch(several_lines, 1, 2).messages[0]["arguments"]]
        self.assertEqual(names, ["x", "y"])

    def test_each_visit(self):
        values = [message["arguments"][0]["value"] for message in self.watch(loop, 3).messages]
        self.assertEqual(values, ["0", "1", "2"])

    def test_lines_inside_lines(self):
        hook = self.watch(outer, 1, watched=(outer, inner))
        first = [outer.__code__.co_firstlineno + 1, inner.__code__.co_firstlineno + 1]
        self.assertEqual([message["line"] for message in hook.messages], first)

    def test_generators_and_recursion(self):
        self.assertEqual(len(self.watch(lambda: list(yields(1)), watched=[yields]).messages), 1)
        # CPython 3.12.1 visits the line again when the inner call returns.
        self.assertGreaterEqual(len(self.watch(recursive, 3).messages), 4)

    def test_an_exception_ends_the_visit(self):
        hook = Hook(raises).begin()
        self.assertRaises(AttributeError, raises, 1)
        hook.end()
        self.assertEqual(hook.package.visits.visits.places, [])
        self.assertEqual(len(hook.messages), 1)

    def test_other_threads(self):
        def run():
            thread = threading.Thread(target=plain, args=(1, 2))
            thread.start()
            thread.join()
        self.assertEqual(len(self.watch(run, watched=[plain]).messages), 1)

    def test_only_the_lines_asked_for(self):
        self.assertEqual(self.watch(unwatched, 1, watched=[plain]).messages, [])
        self.assertEqual(self.watch(plain, 1, 2, near=False).messages, [])

    def test_a_frame_that_runs_already(self):
        def running():
            hook = Hook(running).begin()
            n = 5
            launch(n)  # SUSPECT
            return hook
        hook = running()
        hook.end()
        self.assertEqual(hook.messages[0]["arguments"], [{"name": "n", "origin": "variable", "value": "5"}])

    @unittest.skipIf(hasattr(sys, "monitoring"), "sys.monitoring has room for several")
    def test_another_tool_keeps_its_trace(self):
        def tool(*_):
            return None
        sys.settrace(tool)
        hook = Hook(plain).begin()
        self.assertIs(sys.gettrace(), tool)
        sys.settrace(None)
        self.assertIn("another tool traces", hook.notes[0])

    @unittest.skipUnless(hasattr(sys, "monitoring"), "sys.monitoring came with 3.12")
    def test_no_room_among_the_tools(self):
        for tool in (3, 4):
            sys.monitoring.use_tool_id(tool, "other")
        hook = Hook(plain).begin()
        for tool in (3, 4):
            sys.monitoring.free_tool_id(tool)
        self.assertIn("other tools", hook.notes[0])

    def test_a_function_that_comes_later(self):
        hook = Hook(plain).begin()
        names = {}
        code = "def plain(x, n):\n    launch(x)\n"
        hook.package.lines.watched.suspects[0].first = 1
        hook.package.lines.watched.suspects[0].line = 2
        hook.package.lines.watched.suspects[0].file = "later.py"
        hook.package.lines.watched.first_lines = frozenset([1])
        exec(compile(code, "later.py", "exec"), {"launch": launch}, names)
        names["plain"].__globals__["launch"] = launch
        names["plain"](1, 2)
        hook.end()
        self.assertEqual(hook.package.visits.visits.places, [])
        self.assertEqual(hook.package.lines.watched.suspects[0].paths, [])  # the line was visited, but has no source

    def test_locals_that_the_target_holds_stay(self):
        kept = []

        def holds(n):
            kept.append(locals())
            launch(n)  # SUSPECT
        self.watch(holds, 7)
        self.assertEqual(kept[0]["n"], 7)

    def test_a_variable_that_exec_has_made_stays(self):
        kept = []

        def makes(n):
            exec("made = n", globals(), locals())
            kept.append("made" in locals())
            launch(n)  # SUSPECT
            kept.append("made" in locals())
        self.watch(makes, 7)
        self.assertEqual(kept[1], kept[0])

    def test_what_a_signal_handler_raises_is_the_programs(self):
        def by_arguments(*arguments):
            raise KeyError("late")

        class Handler:
            def by_method(self, number, frame):
                signal.signal(number, signal.SIG_IGN)
                raise KeyError("late")

        def interrupted():
            signal.raise_signal(signal.SIGALRM)
            for _ in range(3):
                pass

        def fails(frame):
            raise KeyError("not found")

        hook = Hook(plain).begin()
        hook.end()
        guarded = hook.package.budget.guarded
        for handler in (by_arguments, Handler().by_method, functools.partial(by_arguments)):
            before = signal.signal(signal.SIGALRM, handler)
            try:
                hook.package.budget.state.on = True
                self.assertRaises(KeyError, guarded, interrupted)
            finally:
                signal.signal(signal.SIGALRM, before)
        hook.package.budget.state.on = True
        guarded(fails, sys._getframe())
        self.assertIn("KeyError: 'not found'", hook.notes[-1])

    def test_a_source_is_read_without_warnings(self):
        text = r'''a = b['\d'], '\\', '\'', "\\\"", '\N{EM DASH}', f"\{a}\N{EM DASH}{b}", r'\{' + \
    c
x = "\
"
'''
        def shape(source):
            return [(type(node), getattr(node, "lineno", 0)) for node in ast.walk(ast.parse(source))]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = shape(text)
            warnings.simplefilter("error")
            self.assertRaises(SyntaxError, ast.parse, text)
            without_escapes = Hook().load().variables.without_escapes
            for source in (text, text.encode(), text.replace("\n", "\r\n").encode()):
                self.assertEqual(shape(without_escapes(source)), wanted)

    def test_text_is_json(self):
        to_json = Hook().load().recorder.to_json
        self.assertEqual(to_json({"a\"\n": ["\u00e9\U0001f600", 1.5, float("nan"), True, None]}),
                         '{"a\\u0022\\u000a":["\\u00e9\\ud83d\\ude00",1.5,null,true,null]}')


class Racing(unittest.TestCase):
    def test_a_racing_line_tells_its_arrays_without_values(self):
        for mode in ("accesses", "arrays"):
            hook = Hook(plain, mode=mode, near=False).begin()
            for _ in range(100):
                plain(Array(8, 512), 3)
            hook.end()
            self.assertEqual(hook.notes, [])
            self.assertEqual(hook.messages, 64 * [
                {"kind": "line", "file": plain.__code__.co_filename, "line": plain.__code__.co_firstlineno + 2,
                 "arguments": [{"name": "x", "origin": "variable", "dtype": "<i8", "device": "cuda",
                                "shape": [8, 512], "pointer": 4096, "bytes": 32768}]}])


class Watch(unittest.TestCase):
    def test_a_watched_line_tells_its_numbers_at_once(self):
        hook = Hook(chooses, mode="watch", near=False).begin()
        for step in range(3):
            chooses(step, "text", 2.5)
        hook.end()
        self.assertEqual([(message["visit"], [(each["name"], each["value"]) for each in message["arguments"]])
                          for message in hook.of_kind("watched")],
                         [(step + 1, [("step", str(step))]) for step in range(3)])
        self.assertEqual(hook.notes, [])

    def test_each_watched_line_has_visits_of_its_own(self):
        hook = Hook(chooses, says_nothing, chooses, mode="watch", near=False).begin()
        says_nothing()
        for step in range(2):
            chooses(step, "text", 2.5)
        says_nothing()
        hook.end()
        self.assertEqual([(message["visit"], message["visits"], len(message["arguments"]))
                          for message in hook.of_kind("watched")],
                         [(1, [0, 1, 0], 0), (1, [1, 1, 1], 1), (2, [2, 1, 2], 1)])

    def test_a_file_is_known_by_whole_names(self):
        ends_in = Hook().load().lines.ends_in
        self.assertTrue(ends_in("/home/a/train.py", "train.py"))
        self.assertTrue(ends_in("/home/a/train.py", "a/train.py"))
        self.assertTrue(ends_in("/home/a/train.py", "/home/a/train.py"))
        self.assertTrue(ends_in("train.py", "train.py"))
        self.assertFalse(ends_in("/home/a/pretrain.py", "train.py"))


if __name__ == "__main__":
    unittest.main()
