#!/usr/bin/env python3
"""What the hook reports about PyTorch's allocator, from a hand-made snapshot, and about exceptions that keep tensors
alive, with CPU tensors."""
import traceback
import unittest
import weakref

from hook import Hook, need_pytorch

need_pytorch()
import torch


def block(size, state, *frames):
    return {"size": size, "state": state, "frames": [{"filename": f, "line": n, "name": "g"} for f, n in frames]}


SNAPSHOT = {"segments": [
    {"device": 0, "total_size": 100, "blocks": [block(60, "active_allocated", ("a.py", 3), ("b.py", 4)),
                                               block(30, "inactive"),
                                               block(10, "active_pending_free", ("a.py", 5))]},
    {"device": 0, "total_size": 50, "blocks": [block(10, "inactive"), block(40, "active_allocated", ("a.py", 3),
                                                                            ("b.py", 4))]},
    {"device": 1, "total_size": 999, "blocks": [block(999, "active_allocated", ("c.py", 1))]}]}


def fails_with(tensor):
    raise ValueError("enough")


def holds(size):
    tensor = torch.zeros(size)
    fails_with(tensor)


class Memory(unittest.TestCase):
    def setUp(self):
        self.hook = Hook().begin()
        self.memory = self.hook.package.allocator_snapshot

    def test_holders_are_put_together_by_their_stacks(self):
        about = self.memory.summary(SNAPSHOT, 0)
        self.assertEqual((about["reserved"], about["allocated"], about["largest_free"]), (150, 110, 30))
        self.assertEqual(about["holders"], [
            {"bytes": 100, "count": 2, "frames": [["a.py", 3, "g"], ["b.py", 4, "g"]]},
            {"bytes": 10, "count": 1, "frames": [["a.py", 5, "g"]]}])

    def test_an_exception_that_is_handled_keeps_its_frames_tensors(self):
        kept = self.memory.kept_by_exceptions
        try:
            holds(1000)
        except ValueError as error:
            (about,) = kept()
            self.assertEqual((about["type"], about["bytes"], about["line"]),
                             ("ValueError", 4000, fails_with.__code__.co_firstlineno + 1))
            try:
                raise KeyError("while the first is handled")
            except KeyError:
                self.assertEqual([each["type"] for each in kept()], ["ValueError"])
        self.assertEqual(kept(), [])

    def test_a_frame_that_is_cleared_keeps_no_tensor(self):
        references = []

        def holds():
            tensor = torch.zeros(1000)
            references.append(weakref.ref(tensor))
            raise ValueError("enough")
        try:
            holds()
        except ValueError as error:
            self.assertEqual(len(self.memory.kept_by_exceptions()), 1)
            traceback.clear_frames(error.__traceback__)
            self.assertTrue(references[0]() is None)

    def test_tensors_of_running_frames_are_not_put_down_to_it(self):
        tensor = torch.zeros(1000)
        try:
            raise ValueError("here")
        except ValueError:
            self.assertEqual(self.memory.kept_by_exceptions(), [])
        del tensor

    def test_a_line_that_is_too_long_is_told_with_fewer_holders(self):
        told = []
        self.hook.package.recorder.deliver = lambda text: len(text) < 400 and (told.append(text) or True)
        many = [{"device": 0, "total_size": 1, "blocks": [block(1, "active", ("file%d.py" % i, 1))]} for i in range(40)]
        real, torch.cuda.memory._snapshot = torch.cuda.memory._snapshot, lambda device: {"segments": many}
        try:
            self.memory.tell_memory(0, 7)
        finally:
            torch.cuda.memory._snapshot = real
        self.assertEqual(len(told), 1)
        self.assertIn('"asked":7', told[0])


if __name__ == "__main__":
    unittest.main()
