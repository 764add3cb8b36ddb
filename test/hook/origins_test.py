#!/usr/bin/env python3
"""Where a bad element came from, with CPU tensors; skips with a message (77) if PyTorch is missing."""
import inspect
import io
import threading
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import numpy
import torch
import torch.utils.data

hook = Hook()
package = hook.load()
package.origins.start("1000")
popped = torch._C._pop_torch_dispatch_stack(None)


def remainder():
    hashed = torch.tensor([3, 511]) * 31 % 512  # ORIGIN
    return hashed[1:].clone().reshape(-1), 400


def one_too_many():
    labels = torch.arange(4)
    later = labels + 1  # ORIGIN
    return torch.stack([later, later]), 4


def entered():
    ids = torch.tensor([1, 7, 2])  # ORIGIN
    return torch.cat([torch.zeros(2, dtype=torch.long), ids]), 5


def filled():
    padded = torch.full((2, 4), -1)  # ORIGIN
    padded[:, :2] = torch.ones(2, 2, dtype=torch.long)
    return padded.t(), 5


def into_a_buffer():
    buffer = torch.zeros(8, dtype=torch.long)
    buffer[:4].copy_(torch.arange(4))
    buffer[4:].copy_(torch.arange(4) * 3)  # ORIGIN
    return buffer, 8


def from_floats():
    scores = torch.tensor([0.5, 0.99])
    return (scores * 10 + 1).long(), 10  # ORIGIN


def in_place():
    ids = torch.arange(3)
    ids.add_(1)
    ids.mul_(2)  # ORIGIN
    return ids, 4


def chosen():
    best = torch.tensor([[0.1, 0.2, 0.9]]).argmax(1)  # ORIGIN
    return torch.where(best > 5, torch.zeros_like(best), best), 2


def filled_beside_others():
    chosen = torch.arange(6)
    chosen[4:] = 0
    return torch.where(chosen > 2, chosen, -7), 6  # ORIGIN


def masked():
    ids = torch.tensor([3, 9])  # ORIGIN
    return ids * torch.tensor([1, 1]), 5


def ranked():
    return torch.tensor([9.0, 1.0, 8.0, 7.0]).topk(4)[1], 3  # ORIGIN


def looked_up():
    """The indices are larger than the entries that they select."""
    table = torch.arange(40) % 6
    table[31] = -2  # ORIGIN
    return table[torch.tensor([31, 30])], 6


def of_numpy():
    ids = torch.from_numpy(numpy.array([1, 8]))  # ORIGIN
    return ids.clone(), 4


def of_a_file():
    file = io.BytesIO()
    torch.save({"ids": torch.tensor([1, 8])}, file)
    file.seek(0)
    loaded = torch.load(file)["ids"]  # ORIGIN
    return loaded.flip(0), 4


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.tensor(99 if index == 7 else index % 3)


def of_a_loader():
    for ids in torch.utils.data.DataLoader(Numbers(), batch_size=3, num_workers=2):  # ORIGIN
        if ids.max() > 3:
            return ids.clone(), 3


def first_of_two_threads():
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.arange(4) * 2))  # ORIGIN
    thread.start()
    thread.join()
    return found[0].clone(), 5


def overwritten_from_outside():
    ids = torch.tensor([1, 2, 3])
    ids.numpy()[1] = 9
    return ids.clone(), 4


def overwritten_beside_bad_elements():
    ids = torch.tensor([1, 6, 3]) * 1
    ids.numpy()[1] = 9
    return ids, 4


def of_two_sources():
    return torch.cat([torch.tensor([1, 8]), torch.tensor([9, 2])]), 5


def of_the_smaller_source():
    ids = torch.tensor([9, 1])  # ORIGIN
    return torch.cat([ids, torch.tensor([8, 2])]), 5


def beside_a_larger_element():
    table = torch.tensor([900, 2, 3])
    return table[1:] + 700, 500  # ORIGIN


def beyond_a_number_added():
    labels = torch.tensor([900, 4]) + 1
    return labels - 5, 500


def cut_off():
    raw = torch.tensor([10, 90000])
    return raw.clamp(max=512), 512  # ORIGIN


def not_cut_off():
    raw = torch.tensor([10, 600])  # ORIGIN
    return raw.clamp(max=1000), 512


def greatest():
    rows = torch.tensor([[1, 7], [2, 9]])  # ORIGIN
    return rows.amax(1).flip(0), 5


def from_good_operands():
    ids, offsets = torch.tensor([300, 1]), torch.tensor([250, 0])
    return ids + offsets, 500  # ORIGIN


def on_one_line():
    starts = torch.tensor([100, 300])
    return torch.tensor([1, 2]) + starts.cumsum(0), 300  # ORIGIN


def with_zeros_added():
    ids = torch.tensor([3, 9])  # ORIGIN
    none = torch.zeros(2, dtype=torch.long)
    return none + ids, 5


def inverse_of_unique():
    _, inverse = torch.unique(torch.tensor([900, 901, 902]), return_inverse=True)  # ORIGIN
    return inverse.clone(), 2


def relative_times():
    stamps = torch.cumsum(torch.tensor([100, 100, 100, 400]), 0)
    return stamps - stamps[0] + 1, 500


def of_another_element():
    base = torch.arange(6) * 150
    return base + torch.tensor([0, 0, 300, -300, -300, -400]), 500


def beside_a_mark():
    ids = torch.tensor([5, -100, 7])
    kept = (ids - torch.tensor([6, 0, 0])).clone()
    kept[1] = 0
    return kept, 10


def least_of_two():
    lengths, most = torch.tensor([700, 3]), torch.tensor([600, 9])
    return torch.minimum(lengths, most), 500


def in_buckets():
    differences = torch.arange(-4, 4) * 100
    return torch.div(differences, 100, rounding_mode="floor") + 3, 8


def of_a_negative_dividend():
    keys = torch.tensor([5, -300])  # ORIGIN
    return torch.div(keys, 100, rounding_mode="floor"), 8


def of_a_shard():
    ids, starts = torch.tensor([3, 7, 2000]), torch.tensor([0, 0, 1000])
    return ids - starts, 500


def never_written():
    ids = torch.empty(4, dtype=torch.long)
    ids.numpy()[:] = 9
    return ids.flip(0), 4


def beside_other_types():
    """PyTorch finds no extremes for these types."""
    torch.tensor([1, 2], dtype=torch.uint32).clone()
    torch.tensor([1j]).clone()
    torch.zeros(2, dtype=torch.float8_e4m3fn).clone()
    torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).clone()
    return remainder()


def written_in_many_pieces():
    ids = torch.zeros(600, dtype=torch.long)
    for at in range(600):
        ids[at] = 9 if at == 3 else 0
    return ids.clone(), 5


def rows_of(table, ids):
    return torch.nn.functional.embedding(ids, table)  # SUSPECT


def lookup(tensor, count):
    table = torch.zeros(count, 2)
    try:
        torch.nn.functional.embedding(tensor, table)
    except IndexError:
        pass


def told_of(function):
    hook.messages.clear()
    package.origins.listener.writers.storages.clear()
    package.origins.listener.told = 0
    mode = package.dispatch_mode.push(package.origins.listener)
    try:
        lookup(*function())
    finally:
        package.dispatch_mode.pop(mode)
    if hook.notes:
        raise AssertionError(hook.notes)
    return hook.of_kind("origin")


class Origins(unittest.TestCase):
    def check(self, function, role, certain=True):
        source, first = inspect.getsourcelines(function)
        marked = next(first + at for at, line in enumerate(source) if "# ORIGIN" in line)
        (told,) = told_of(function)
        origin = told["origin"][0]
        line = next(line for file, line, _ in origin["stack"] if file == __file__)
        self.assertEqual((origin["role"], line, told["certain"]), (role, marked, certain), told)
        return told

    def test_the_operator_that_made_it_is_found(self):
        for function in (remainder, one_too_many, into_a_buffer, from_floats, in_place, chosen, ranked,
                         first_of_two_threads, beside_a_larger_element, cut_off, from_good_operands, inverse_of_unique):
            with self.subTest(function.__name__):
                self.check(function, "made")

    def test_the_line_where_it_entered_is_found(self):
        for function in (entered, of_numpy, looked_up, of_the_smaller_source, not_cut_off, greatest, with_zeros_added):
            with self.subTest(function.__name__):
                self.check(function, "copied")
        for function in (filled, filled_beside_others):
            with self.subTest(function.__name__):
                self.check(function, "passed")
        self.check(of_a_file, "loaded")

    def test_an_operator_that_leaves_the_element_as_it_was_is_no_origin(self):
        self.check(masked, "copied", certain=False)

    def test_a_bad_element_that_a_number_was_added_to_is_followed(self):
        (told,) = told_of(beyond_a_number_added)
        self.assertEqual([(each["role"], each["operator"]) for each in told["origin"]],
                         [("copied", "aten::lift_fresh"), ("passed", "aten::add.Tensor"), ("passed", "aten::sub.Tensor")])
        self.assertFalse(told["certain"])

    def test_a_negative_quotient_comes_from_its_dividend(self):
        self.check(of_a_negative_dividend, "copied", certain=False)

    def test_the_line_is_found_if_one_of_its_operators_made_it(self):
        self.check(on_one_line, "made", certain=False)

    def test_batch_and_sample_of_a_loader_are_told(self):
        origin = self.check(of_a_loader, "loaded")["origin"][0]
        self.assertEqual((origin["batch"], origin["sample"]), (2, 7))

    def test_the_value_and_what_carried_it_are_told(self):
        told = self.check(remainder, "made")
        self.assertEqual((told["operator"], told["argument"], told["index"], told["value"]),
                         ("aten::embedding", "indices", [0], 481))
        self.assertEqual([(each["operator"], each.get("value")) for each in told["origin"]],
                         [("aten::remainder.Scalar", 481), ("aten::clone", None)])

    def test_nothing_is_told_of_what_is_not_certain(self):
        for function in (overwritten_from_outside, overwritten_beside_bad_elements, of_two_sources, never_written,
                         written_in_many_pieces, relative_times, of_another_element, beside_a_mark, least_of_two, in_buckets, of_a_shard):
            with self.subTest(function.__name__):
                (told,) = told_of(function)
                self.assertEqual(told["origin"], [])

    def test_types_without_extremes_are_no_obstacle(self):
        (told,) = told_of(beside_other_types)
        self.assertEqual(told["origin"][0]["operator"], "aten::remainder.Scalar")

    def test_an_operator_with_good_arguments_is_not_told(self):
        self.assertEqual(told_of(lambda: (torch.arange(4), 4)), [])


class BesideSuspectLines(unittest.TestCase):
    """As in a rerun that confirms."""

    def setUp(self):
        self.values = Hook(rows_of)
        self.values.package = package
        before = dict(vars(package.recorder))
        self.addCleanup(vars(package.recorder).update, before)
        vars(package.recorder).update(self.values.given)
        package.tensors.devices[:] = ["cuda", "cpu"]
        package.suspect_settings.start()
        mode = package.dispatch_mode.push(package.origins.listener)
        self.addCleanup(package.dispatch_mode.pop, mode)
        self.addCleanup(self.values.end)
        for each in (package.budget.state, package.origins.listener.budget):
            self.addCleanup(vars(each).update, vars(each).copy())

    def told(self):
        return [message["operator"] for message in self.values.of_kind("operator")]

    def test_both_report(self):
        rows_of(torch.zeros(4, 2), torch.tensor([1]))
        self.assertEqual(self.told(), ["aten::embedding"])
        lookup(torch.tensor([3, 511]) * 31 % 512, 400)
        (origin,) = self.values.of_kind("origin")
        self.assertEqual(origin["origin"][0]["operator"], "aten::remainder.Scalar")
        self.assertEqual(self.values.notes, [])

    def test_an_operator_that_is_not_reported_ends_what_is_known_of_the_line(self):
        table = torch.zeros(4, 2)
        rows_of(table, torch.tensor([1]))
        rows_of(table, torch.tensor([1]))
        table.sum()
        table.sum()
        self.assertEqual(self.told(), ["aten::embedding", "", "aten::embedding", ""])

    def test_every_operator_is_marked(self):
        ids, table = torch.tensor([1]), torch.zeros(4, 2)
        self.values.calls.clear()
        rows_of(table, ids)
        table.view(-1)
        hooked = [on for name, on in self.values.calls if name == "hooked"]
        self.assertEqual(hooked, [True, True, False, False, True, False])

    def test_the_time_for_one_does_not_end_the_other(self):
        package.budget.state.seconds = 0
        rows_of(torch.zeros(4, 2), torch.tensor([1]))
        self.assertEqual((package.budget.state.on, package.origins.listener.budget.on), (False, True))
        package.budget.state.on, package.budget.state.seconds = True, 1000
        package.origins.listener.budget.seconds = 0
        torch.zeros(2) + 1
        self.values.messages.clear()
        rows_of(torch.zeros(4, 2), torch.tensor([1]))
        self.assertFalse(package.origins.listener.budget.on)
        self.assertIn("aten::embedding", self.told())

    def test_after_the_failure_no_tensor_is_read(self):
        table = torch.zeros(4, 2)
        self.values.has_failed = True
        self.values.calls.clear()
        table.sum()
        self.assertEqual([on for name, on in self.values.calls if name == "quiet"], [])
        self.assertEqual(self.values.notes, [])


if __name__ == "__main__":
    unittest.main()
