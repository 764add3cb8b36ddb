#!/usr/bin/env python3
"""What the hook reports about the memory that operators at a racing line use, with CPU tensors; skips with a message
(77) if PyTorch is missing."""
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import torch


class Array:
    @property
    def __cuda_array_interface__(self):
        return {"shape": (8, 4), "typestr": "<f4", "data": (4096, False), "version": 3}


def launch(*_):
    pass


def adds(x, other):
    x.add_(other)  # SUSPECT


def makes(x):
    y = x.t() + 1  # SUSPECT
    return y


def slices(whole, part):
    return (part[1].add_(1), whole)  # SUSPECT


def into(x, out):
    torch.mul(x, 2, out=out)  # SUSPECT


def joins(x, y):
    return torch.cat([x, y, x])  # SUSPECT


def normalises(x, mean, var):
    return torch.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, False)  # SUSPECT


def several(x):
    return torch.var_mean(x, 0)  # SUSPECT


def kernel(x, array):
    launch(x, array)  # SUSPECT


def repeats(tensors):
    for x in tensors:
        x.add_(1)  # SUSPECT


def grows(x, count):
    return [x + 1 for _ in range(count)]  # SUSPECT


def raises(x):
    x.index_select(0, torch.tensor([99]))  # SUSPECT


class Accesses(unittest.TestCase):
    def watch(self, function, *arguments, mode="accesses", **options):
        hook = Hook(function, mode=mode, near=False, **options).begin()
        try:
            self.result = function(*arguments)
        except IndexError:
            pass
        finally:
            hook.end()
        self.assertEqual(hook.notes, [])
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertFalse([each for each in hook.calls if each == ("hooked", True)] != [] and
                         [each for each in hook.calls if each[0] == "hooked"][-1] != ("hooked", False))
        return hook

    def test_an_argument_that_is_written_and_one_that_is_read(self):
        x, other = torch.zeros(6, 4), torch.ones(4)
        hook = self.watch(adds, x, other)
        message, results = hook.of_kind("operator") + hook.of_kind("results")
        self.assertEqual((message["operator"], message["overload"], message["whole"]), ("aten::add_", "Tensor", True))
        self.assertTrue(message["schema"].startswith("aten::add_.Tensor(Tensor(a!) self"))
        self.assertEqual(message["line"], adds.__code__.co_firstlineno + 1)
        self.assertEqual(message["arguments"], [
            {"name": "x", "origin": "variable", "parameter": "self", "written": True, "dtype": "float32",
             "device": "cpu", "shape": [6, 4], "strides": [4, 1], "pointer": x.data_ptr(), "bytes": 96},
            {"name": "other", "origin": "variable", "parameter": "other", "written": False, "dtype": "float32",
             "device": "cpu", "shape": [4], "strides": [1], "pointer": other.data_ptr(), "bytes": 16}])
        self.assertEqual(results["arguments"], [])  # the result is the argument

    def test_what_is_made_is_written(self):
        x = torch.zeros(6, 4)
        hook = self.watch(makes, x)
        (result,) = hook.of_kind("results")[0]["arguments"]
        self.assertEqual((result["name"], result["written"], result["pointer"]), ("result", True, self.result.data_ptr()))
        (read,) = hook.of_kind("operator")[0]["arguments"]
        self.assertEqual((read["name"], read["view"], read["parameter"], read["strides"], read["bytes"],
                          read["written"]), ("x", True, "self", [1, 4], 96, False))

    def test_a_view_is_of_the_smallest_variable_around_it(self):
        whole = torch.zeros(8, 4)
        hook = self.watch(slices, whole, whole[2:5])
        (about,) = hook.of_kind("operator")[0]["arguments"]
        self.assertEqual((about["name"], about["view"], about["pointer"], about["bytes"]),
                         ("part", True, whole.data_ptr() + 48, 16))

    def test_an_output_that_is_given(self):
        x, out = torch.zeros(6), torch.zeros(6)
        message = self.watch(into, x, out).of_kind("operator")[-1]
        self.assertEqual([(each["name"], each["written"]) for each in message["arguments"]],
                         [("x", False), ("out", True)])

    def test_lists_and_several_results(self):
        hook = self.watch(joins, torch.zeros(3), torch.zeros(2))
        (message,) = hook.of_kind("operator")
        self.assertEqual([(each["name"], each["parameter"]) for each in message["arguments"]],
                         [("x", "tensors[0]"), ("y", "tensors[1]"), ("x", "tensors[2]")])
        self.assertFalse(message["whole"])
        results = self.watch(several, torch.zeros(3, 2)).of_kind("results")[0]
        self.assertEqual([(each["name"], each["shape"]) for each in results["arguments"]],
                         [("result 0", [2]), ("result 1", [2])])

    def test_no_values_are_read(self):
        hook = self.watch(adds, torch.zeros(6), torch.ones(6))
        self.assertFalse({"min", "max", "nan", "value"} & {key for each in hook.messages for about in each["arguments"]
                                                           for key in about})

    def test_variables_where_no_operator_is_seen(self):
        x = torch.zeros(5)
        for mode in ("accesses", "arrays"):
            (message,) = self.watch(kernel, x, Array(), mode=mode).of_kind("line")
            self.assertEqual([(each["name"], each["dtype"], each["pointer"], each["bytes"])
                              for each in message["arguments"]],
                             [("x", "float32", x.data_ptr(), 20), ("array", "<f4", 4096, 128)])

    def test_compiled_code_is_left_alone(self):
        hook = self.watch(adds, torch.zeros(6), torch.ones(6), mode="arrays")
        self.assertEqual(hook.of_kind("operator"), [])

    def test_a_hot_line_is_told_of_until_it_says_nothing_new(self):
        x, y = torch.zeros(5), torch.zeros(5)
        hook = self.watch(repeats, [x] * 500 + [y] + [x] * 500)
        pointers = [each["arguments"][0]["pointer"] for each in hook.of_kind("operator")]
        self.assertEqual(pointers, [x.data_ptr()] * 64 + [y.data_ptr()])
        self.assertEqual(len([each for each in hook.calls if each == ("hooked", True)]), 1001)

    def test_new_results_of_old_arguments_are_news(self):
        hook = self.watch(grows, torch.zeros(1000), 100)
        self.assertEqual({each["arguments"][0]["pointer"] for each in hook.of_kind("results")},
                         {each.data_ptr() for each in self.result})
        self.assertEqual(len(hook.of_kind("operator")), 64)

    def test_it_says_where_it_stops(self):
        hook = Hook(grows, mode="accesses", near=False).begin()
        hook.package.accesses.MOST_TOLD = 20000
        grows(torch.zeros(1000), 100)
        hook.end()
        self.assertEqual(len(hook.of_kind("untold")), 1)
        self.assertEqual(hook.messages[-1]["kind"], "untold")
        self.assertLess(len(str(hook.messages)), 40000)

    def test_an_operator_that_raises_ends(self):
        hook = self.watch(raises, torch.zeros(5))
        self.assertEqual([each["operator"] for each in hook.of_kind("operator")][-1], "aten::index_select")
        self.assertIsNone(hook.package.visits.visits.racing)

    def test_running_statistics(self):
        x, mean, var = torch.ones(2, 3, 4), torch.zeros(3), torch.ones(3)
        (message,) = [each for each in self.watch(normalises, x, mean, var).of_kind("operator")
                      if "batch_norm" in each["operator"]]
        self.assertIn(("mean", "running_mean"), [(each["name"], each.get("parameter")) for each in message["arguments"]])


if __name__ == "__main__":
    unittest.main()
