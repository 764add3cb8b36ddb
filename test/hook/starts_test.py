#!/usr/bin/env python3
"""Where threads were started and pools got their work, as the hook reports it, with the interpreter alone."""
import concurrent.futures.thread as pools
import gc
import sys
import threading
import traceback
import unittest
import weakref

from hook import Hook


def launch(*_):
    pass


def library(n):
    launch(n)  # SUSPECT
    launch(n + 1)  # SUSPECT


def line_of(mark):
    with open(__file__) as source:
        return 1 + next(i for i, line in enumerate(source) if line.endswith("# " + mark + "\n"))


def in_thread(target, *arguments):
    thread = threading.Thread(target=target, args=arguments)
    thread.start()  # STARTED
    thread.join()


def starts_another(n):
    thread = threading.Thread(target=library, args=(n,))
    thread.start()  # STARTED AGAIN
    thread.join()


def by_a_pool(*arguments):
    with pools.ThreadPoolExecutor(1) as pool:
        first = pool.submit(library, *arguments)  # GIVEN FIRST
        second = pool.submit(library, *arguments)  # GIVEN THEN
        return first.result(), second.result()


class Starts(unittest.TestCase):
    def setUp(self):
        before = threading.Thread.start, pools._WorkItem.__init__

        def restore():
            threading.Thread.start, pools._WorkItem.__init__ = before
        self.addCleanup(restore)

    def hook(self, **options):
        hook = Hook(library, threads=True, **options)
        self.threads, self.sizes, self.longest, deliver = [], [], 1 << 20, hook.given["deliver"]

        def delivered(text):
            self.threads.append(threading.get_ident())
            self.sizes.append(len(text))
            return len(text) <= self.longest and deliver(text)
        hook.given["deliver"] = delivered
        return hook.begin()

    def run_and_end(self, hook, function, *arguments):
        try:
            function(*arguments)
        finally:
            hook.end()
        self.assertEqual(hook.notes, [])
        return hook

    def lines(self, message):
        """Returns the lines of this file, innermost first, stack by stack."""
        return [[line for file, line, _ in stack if file == __file__] for stack in message["stacks"]]

    def test_a_thread_tells_where_it_was_started_before_its_values(self):
        hook = self.run_and_end(self.hook(), in_thread, library, 1)
        self.assertEqual([message["kind"] for message in hook.messages], ["started", "line", "started", "line"])
        first = library.__code__.co_firstlineno + 1
        for message, line in zip(hook.of_kind("started"), (first, first + 1)):
            self.assertEqual((message["file"], message["line"], message["pool"]), (__file__, line, False))
            self.assertEqual([stack[0] for stack in self.lines(message)], [line_of("STARTED")])
            self.assertEqual(message["stacks"][0][0], [__file__, line_of("STARTED"), "in_thread"])
        self.assertNotIn(threading.get_ident(), self.threads)

    def test_it_is_told_once_for_each_line(self):
        hook = self.hook()
        self.run_and_end(hook, in_thread, lambda: [library(n) for n in range(3) if not launch()])
        self.assertEqual(len(hook.of_kind("line")), 6)
        self.assertEqual(len(hook.of_kind("started")), 6)  # the two lines alternate, so each value needs a new start
        hook = self.hook()
        hook.package.lines.watched.suspects.pop()
        self.run_and_end(hook, in_thread, lambda: [library(n) for n in range(3)])
        self.assertEqual((len(hook.of_kind("line")), len(hook.of_kind("started"))), (3, 1))

    def test_a_thread_that_a_thread_started_leads_on(self):
        hook = self.run_and_end(self.hook(), in_thread, starts_another, 1)
        stacks = self.lines(hook.messages[0])
        self.assertEqual([stack[0] for stack in stacks], [line_of("STARTED AGAIN"), line_of("STARTED")])

    def test_frames_of_the_hooks_are_left_out(self):
        hook = self.hook()
        code = compile("begin()", "<cudadiag>", "exec")
        self.run_and_end(hook, exec, code, {"begin": lambda: in_thread(library, 1)})
        files = [file for file, _, _ in hook.messages[0]["stacks"][0]]
        self.assertIn(__file__, files)
        self.assertNotIn("<cudadiag>", files)

    def test_what_is_too_long_loses_its_outer_stacks(self):
        self.run_and_end(self.hook(), in_thread, starts_another, 1)
        whole = self.sizes[0]
        for longest, stacks in ((whole, 2), (whole - 1, 1), (0, 0)):
            hook = self.hook()
            self.longest = longest
            self.run_and_end(hook, in_thread, starts_another, 1)
            self.assertEqual([len(message["stacks"]) for message in hook.of_kind("started")],
                             2 * [stacks] if stacks else [])

    def expect_pools_lines(self, hook, is_pool):
        self.run_and_end(hook, by_a_pool, 1)
        told = hook.of_kind("started")
        self.assertEqual([self.lines(message)[0][0] for message in told],
                         2 * [line_of("GIVEN FIRST")] + 2 * [line_of("GIVEN THEN")])
        self.assertEqual([message["pool"] for message in told], is_pool)

    def test_a_pools_thread_tells_of_the_work_that_it_does(self):
        self.expect_pools_lines(self.hook(), 4 * [True])

    def test_pools_may_be_imported_late(self):
        del sys.modules["concurrent.futures.thread"]
        try:
            hook = self.hook()
        finally:
            sys.modules["concurrent.futures.thread"] = pools
        self.expect_pools_lines(hook, 2 * [False] + 2 * [True])

    @unittest.skipIf(sys.version_info < (3, 11), "these versions of Python restore the frames")
    def test_an_error_at_the_start_is_the_programs(self):
        hook = self.hook()
        thread = threading.Thread(target=launch)
        thread.start()
        try:
            thread.start()
        except RuntimeError:
            self.assertNotIn("<cudadiag>", traceback.format_exc())
        self.run_and_end(hook, launch)

    def test_nothing_is_told_of_other_threads(self):
        hook = self.hook()
        library(1)
        hook.is_near = False
        in_thread(library, 1)
        self.run_and_end(hook, launch)
        self.assertEqual([message["kind"] for message in hook.messages], ["line", "line"])

    def test_nothing_is_kept_for_longer_than_the_thread(self):
        class Held:
            pass

        def starts():
            held = Held()
            thread = threading.Thread(target=waits.wait)
            thread.start()
            return thread, weakref.ref(held)

        waits, hook = threading.Event(), self.hook()
        self.addCleanup(hook.end)
        self.addCleanup(waits.set)
        thread, held = starts()
        self.assertIsNone(held(), "a frame was kept")
        self.assertEqual(len(hook.package.thread_starts.starts.kept), 1)
        waits.set()
        thread.join()
        by_a_pool(1)
        del thread
        gc.collect()
        self.assertEqual((hook.package.thread_starts.starts.kept, hook.notes), ({}, []))

    def test_what_a_start_raises_is_the_programs(self):
        self.hook().end()
        thread = threading.Thread(target=launch)
        thread.start()
        self.assertRaisesRegex(RuntimeError, "once", thread.start)
        thread.join()


if __name__ == "__main__":
    unittest.main()
