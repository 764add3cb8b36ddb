#!/usr/bin/env python3
"""What the hook reads at PyTorch's operators, with CPU tensors; skips with a message (77) if PyTorch is missing."""
import unittest

from hook import Hook, need_pytorch

need_pytorch()
import torch
import torch.nn.functional as F


def long(*values):
    return torch.tensor(values)


def embedding(table, idx):
    return F.embedding(idx, table)  # SUSPECT


def embedding_bag(table, idx):
    return F.embedding_bag(idx, table, mode="sum")  # SUSPECT


def index_select(x, idx):
    return torch.index_select(x, 1, idx)  # SUSPECT


def gather(x, idx):
    return torch.gather(x, 1, idx)  # SUSPECT


def scatter(x, idx):
    return x.scatter(-1, idx, 1.0)  # SUSPECT


def scatter_add_(x, idx):
    return x.scatter_add_(0, idx, torch.ones_like(x))  # SUSPECT


def index(x, idx):
    return x[:, idx]  # SUSPECT


def index_put(view, idx):
    view[idx] = 1.0  # SUSPECT


def take(x, idx):
    return x.take(idx)  # SUSPECT


def nll(scores, labels):
    return F.nll_loss(scores, labels, ignore_index=-7)  # SUSPECT


def cross_entropy(scores, labels):
    return F.cross_entropy(scores.view(-1, 4), labels.view(-1))  # SUSPECT


def nll_2d(scores, labels):
    return F.cross_entropy(scores, labels)  # SUSPECT


def index_add(x, idx):
    return x.index_add(0, idx, torch.ones(len(idx), 3))  # SUSPECT


def index_copy(x, idx):
    return x.index_copy(0, idx, torch.ones(len(idx), 3))  # SUSPECT


def multinomial(p):
    return torch.multinomial(p, 1)  # SUSPECT


def bce(p, target):
    return F.binary_cross_entropy(p, target)  # SUSPECT


def positions(wpe, ids):
    pos = torch.arange(ids.shape[1])
    return wpe(pos)  # SUSPECT


def subscript(batch, table):
    return F.embedding(batch["ids"], table)  # SUSPECT


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(5, 2)
        self.register_buffer("offsets", long(0, 9))

    def forward(self):
        return self.emb(self.offsets)  # SUSPECT


def under_with(x, idx):
    with torch.no_grad():  # SUSPECT
        y = x[idx]
    return y


def makes(x):
    return torch.ones(3) + x  # SUSPECT


def twice(x):
    return [x[i] for i in (long(0), long(1))]  # SUSPECT


def raises(x, idx):
    try:
        return x[idx]  # SUSPECT
    except IndexError:
        return torch._C._len_torch_dispatch_stack()


def ctc(scores, targets, frames, lengths):
    return F.ctc_loss(scores, targets, frames, lengths)  # SUSPECT


def ctc_module(scores, targets, frames, lengths, criterion=torch.nn.CTCLoss()):
    return criterion(scores, targets, frames, lengths)  # SUSPECT


def backward(x):
    x.sum().backward()  # SUSPECT


def saves_its_result(x):
    return torch.relu(x)  # SUSPECT


class Values(unittest.TestCase):
    def watch(self, function, *arguments, watched=None, **options):
        hook = Hook(watched or function, **options).begin()
        try:
            self.result = function(*arguments)
        except (IndexError, RuntimeError) as error:
            self.result = error
        finally:
            hook.end()
        self.assertEqual(hook.notes, [])
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        return hook

    def check_outside(self, function, *arguments, op, name, bound, outside, first, value, **options):
        hook = self.watch(function, *arguments, **options)
        found = [message for message in hook.of_kind("operator") if message["operator"] == "aten::" + op]
        self.assertEqual(len(found), 1, hook.messages)
        about = found[0]["arguments"][0]
        self.assertEqual((about["name"], about["origin"]), (name, "variable"), about)
        self.assertEqual(about.get("bound"), bound)
        self.assertEqual((about["outside"], about["first_outside"], about["first_value"]), (outside, first, value))

    def test_indices_beyond_a_table(self):
        table = torch.randn(10, 3)
        for function, op in ((embedding, "embedding"), (embedding_bag, "_embedding_bag_forward_only")):
            table.requires_grad_(False)
            self.check_outside(function, table, torch.tensor([[1, 2], [30, -4]]), op=op, name="idx", bound=10,
                               outside=2, first=[1, 0], value=30)

    def test_indices_along_a_dimension(self):
        x = torch.zeros(3, 4)
        self.check_outside(index_select, x, long(0, 4), op="index_select", name="idx", bound=4, outside=1, first=[1],
                           value=4)
        self.check_outside(gather, x, torch.tensor([[0], [4], [-1]]), op="gather", name="idx", bound=4, outside=2,
                           first=[1, 0], value=4)
        self.check_outside(scatter, x, torch.tensor([[0, 5]]), op="scatter", name="idx", bound=4, outside=1,
                           first=[0, 1], value=5)
        self.check_outside(scatter_add_, x, torch.tensor([[3]]), op="scatter_add_", name="idx", bound=3, outside=1,
                           first=[0, 0], value=3)
        self.check_outside(index_add, torch.zeros(2, 3), long(1, 2), op="index_add", name="idx", bound=2, outside=1,
                           first=[1], value=2)
        self.check_outside(index_copy, torch.zeros(2, 3), long(1, 2), op="index_copy", name="idx", bound=2, outside=1,
                           first=[1], value=2)

    def test_negative_subscripts_are_allowed_as_far_as_they_go(self):
        x = torch.zeros(2, 5)
        self.check_outside(index, x, long(-5, 4, -6), op="index", name="idx", bound=5, outside=1, first=[2], value=-6)
        self.check_outside(index_put, x[:, 1:4], long(1, 2), op="index_put_", name="idx", bound=2, outside=1,
                           first=[1], value=2)
        self.check_outside(take, x, long(-10, 10), op="take", name="idx", bound=10, outside=1, first=[1], value=10)

    def test_operators_that_take_another_way_under_a_mode_are_left_alone(self):
        arguments = torch.zeros(9, 1, 4), torch.tensor([[1, 2]]), long(9), long(2)
        for function in (ctc, ctc_module):
            hook = self.watch(function, *arguments)
            self.assertEqual(hook.of_kind("operator"), [])
            (line,) = hook.of_kind("line")
            self.assertEqual([each["name"] for each in line["arguments"]], ["scores", "targets", "frames", "lengths"])

    def test_masks_are_no_indices(self):
        hook = self.watch(index, torch.zeros(2, 5), torch.ones(5, dtype=torch.bool))
        self.assertEqual([about for about in hook.of_kind("operator")[0]["arguments"] if "bound" in about], [])

    def test_labels(self):
        scores = torch.randn(3, 4)
        self.check_outside(nll, scores, long(-7, 3, 4), op="nll_loss_forward", name="labels", bound=4, outside=1,
                           first=[2], value=4)
        # Reports the user's shape, although the operator got the same memory in a different shape.
        self.check_outside(cross_entropy, torch.randn(2, 3, 4), torch.tensor([[0, -100, 1], [2, 4, 3]]),
                           op="nll_loss_forward", name="labels", bound=4, outside=1, first=[1, 1], value=4)
        self.check_outside(nll_2d, torch.randn(1, 4, 2, 2), torch.tensor([[[0, 1], [9, 2]]]),
                           op="nll_loss2d_forward", name="labels", bound=4, outside=1, first=[0, 1, 0], value=9)

    def test_probabilities(self):
        nan = float("nan")
        self.check_outside(multinomial, torch.tensor([[0.5, 0.5], [nan, 1.0]]), op="multinomial", name="p", bound=None,
                           outside=1, first=[1, 0], value=None)
        self.check_outside(multinomial, torch.tensor([[0.5, 0.5], [0.0, 0.0]]), op="multinomial", name="p", bound=None,
                           outside=1, first=[1], value=0.0)
        self.check_outside(bce, torch.tensor([0.5, 1.25]), torch.ones(2), op="binary_cross_entropy", name="p",
                           bound=None, outside=1, first=[1], value=1.25)

    def test_one_hot(self):
        bounds = Hook().load().schemas
        bound = bounds.bounds_of("aten::one_hot", {"self": long(3), "num_classes": 3})["self"]
        self.assertEqual(bound.check(long(0, 3)), {"bound": 3, "outside": 1, "first_outside": [1], "first_value": 3})

    def test_names(self):
        wpe = torch.nn.Embedding(4, 2)
        self.check_outside(positions, wpe, torch.zeros(1, 6), op="embedding", name="pos", bound=4, outside=2, first=[4],
                           value=4)
        self.check_outside(subscript, {"ids": long(9)}, torch.randn(3, 2), op="embedding", name="batch['ids']",
                           bound=3, outside=1, first=[0], value=9)
        self.check_outside(Model(), op="embedding", name="self.offsets", bound=5, outside=1, first=[1], value=9,
                           watched=Model.forward)

    def test_floats_without_a_rule(self):
        hook = self.watch(backward, torch.tensor([1.0, float("inf"), float("nan")], requires_grad=True))
        about = hook.of_kind("operator")[0]["arguments"][0]
        self.assertEqual((about["nan"], about["inf"], about["min"], about["max"]), (1, 1, 1.0, 1.0))

    def test_layouts(self):
        base = torch.arange(24).view(4, 6)
        for tensor in (base.t(), base[1:3, ::2], base[:, :1].expand(4, 5), base.to(torch.int16), base[0, 0]):
            hook = self.watch(twice_of, tensor)
            about = hook.of_kind("line")[0]["arguments"][0]
            self.assertEqual((about["min"], about["max"]), (int(tensor.min()), int(tensor.max())))
            self.assertEqual(about["shape"], list(tensor.shape))

    def test_results_are_those_without_the_hook(self):
        table = torch.randn(10, 3, requires_grad=True)
        self.watch(embedding, table, long(1, 2))
        self.assertTrue(torch.equal(self.result, table[1:3]))
        self.result.sum().backward()
        self.assertEqual(float(table.grad.sum()), 6.0)

    def test_tensors_that_autograd_saves_are_no_obstacle(self):
        x = torch.tensor([-1.0, 2.0], requires_grad=True)
        self.watch(saves_its_result, x)
        self.result.sum().backward()
        self.assertEqual(x.grad.tolist(), [0.0, 1.0])

    def test_operators_of_a_subclass_are_those_of_its_inner_tensors(self):
        class Wrapped(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
                return cls(function(*(each.inner if isinstance(each, cls) else each for each in args), **(kwargs or {})))

        hook = self.watch(twice_of, Wrapped(torch.ones(3)))
        self.assertEqual(self.result.inner.tolist(), [2.0, 2.0, 2.0])
        self.assertEqual([each["operator"] for each in hook.of_kind("operator")], ["aten::add"])

    def test_backward_workers_and_the_mode(self):
        x = torch.randn(3, requires_grad=True)
        hook = self.watch(backward, x)
        self.assertTrue(torch.equal(x.grad, torch.ones(3)))
        self.assertTrue(hook.of_kind("operator"))

    def test_a_with_statement_has_no_mode(self):
        hook = self.watch(under_with, torch.zeros(3), long(1))
        self.assertEqual(hook.of_kind("operator"), [])

    def test_a_caught_error_leaves_no_mode(self):
        self.watch(raises, torch.zeros(3), long(9))
        self.assertEqual(self.result, 0)

    def test_quiet_and_hooked_come_in_pairs(self):
        hook = self.watch(twice, torch.zeros(3))
        for what in ("quiet", "hooked"):
            calls = [on for name, on in hook.calls if name == what]
            self.assertEqual(calls, [True, False] * (len(calls) // 2))
            self.assertTrue(calls)

    def test_what_makes_tensors_is_told_of(self):
        names = [message["operator"] for message in self.watch(makes, torch.zeros(3)).of_kind("operator")]
        self.assertEqual(names, ["aten::ones", "aten::add"])

    def test_nothing_is_taken_before_the_suspect_call_is_near(self):
        self.assertEqual(self.watch(twice, torch.zeros(3), near=False).messages, [])

    def test_variables_alone_where_a_line_leads_into_compiled_code(self):
        hook = self.watch(embedding, torch.randn(10, 3), long(1), mode="variables")
        self.assertEqual(hook.of_kind("operator"), [])
        self.assertEqual([about["name"] for about in hook.of_kind("line")[0]["arguments"]], ["idx", "table"])

    def test_the_time_for_it_ends(self):
        hook = Hook(embedding, seconds=0).begin()
        for _ in range(3):
            embedding(torch.randn(10, 3), long(1))
        hook.end()
        self.assertEqual(len(hook.of_kind("line")), 1)
        self.assertIn("was reached", hook.notes[0])
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)


def twice_of(x):
    return x + x  # SUSPECT


if __name__ == "__main__":
    unittest.main()
