#!/usr/bin/env python3
"""The first operator that produces NaN, as the hook finds it among all operators, with CPU tensors; skips with a
message (77) if PyTorch is missing."""
import copy
import io
import json
import math
import sys
import signal
import threading
import time
import unittest
from unittest import mock

from hook import Hook, need_pytorch

need_pytorch()
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

messages = []
hook = Hook()
hook.given["deliver"] = lambda text: messages.append(json.loads(text)) or True
package = hook.load()
package.nans.begin()
torch._C._pop_torch_dispatch_stack(None)
NAN = float("nan")
settle_all = package.non_finite.settle_all  # this name is a check, which the functions below must not call
OUT = io.StringIO()


def verdict(function):
    """Returns the finding's message, as session/hook_output.cc reads it."""
    messages.clear()
    hook.notes.clear()
    watch, mode, error = package.value_uses.watch, None, None
    watch.__init__()
    try:
        mode = package.dispatch_mode.push(package.nans.listener)
        function()
    except Exception as raised:
        error = raised
    finally:
        package.dispatch_mode.pop(mode)
    settle_all()
    package.value_uses.finish(error)
    if hook.notes:
        raise AssertionError(hook.notes)
    found = [each for each in messages if each["kind"] == "non_finite"]
    asked = {each["root"] for each in found if each["state"] == "asked"}
    order = [each for each in found if each["state"] == "found"] + \
        [each for each in found if each["state"] == "candidate" and each["root"] not in asked]
    return order[0] if order else None


def line_of(message):
    for stack in ("stack", "forward_stack"):
        for file, line, _ in message.get(stack, ()):
            if file == __file__:
                return line
    return None


def trained(loss_of, steps=3, rate=0.1):
    weight = torch.ones(3, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=rate)
    for step in range(steps):
        optimiser.zero_grad()
        loss_of(weight, step).backward()
        optimiser.step()


# Each function produces NaN at the marked line, and uses it.


def divides():
    trained(lambda weight, step: (weight * torch.tensor(2.0 - step) / (2 - step)).sum())  # NAN


def root_in_backward():
    trained(lambda weight, step: torch.sqrt(weight * 0).sum())  # NAN


def masked_root():
    weight = torch.tensor([0.0, 4.0], requires_grad=True)
    root = torch.sqrt(weight)  # NAN
    torch.where(weight > 0, root, torch.zeros(2)).sum().backward()
    with torch.no_grad():
        weight -= weight.grad


def norm_of_nothing():
    print(torch.empty(0).mean(), file=OUT)  # NAN


def deviation_of_one():
    loss = torch.ones(1, 3, requires_grad=True).std(0).sum()  # NAN
    print(loss.item(), file=OUT)


def hidden_row():
    scores = torch.zeros(2, 3)
    scores[1] = float("-inf")
    weight = torch.ones(3, requires_grad=True)
    probabilities = torch.softmax(scores, 1)  # NAN
    (probabilities * weight).sum().backward()
    with torch.no_grad():
        weight.sub_(weight.grad)


def overflows():
    x = torch.full((3,), 60000.0, dtype=torch.float16)
    big = x + x
    difference = big - big  # NAN
    print(difference.sum().item(), file=OUT)


def through_eight_bits():
    x = torch.tensor([1.0, 3000.0])
    small = x.to(torch.float8_e4m3fn)  # NAN
    print(small.float().sum().item(), file=OUT)


def in_place():
    x = torch.ones(3)
    x[1] = -1
    x.log_()  # NAN
    print(x.tolist(), file=OUT)


def into_another():
    out = torch.empty(2)
    torch.div(torch.zeros(2), torch.zeros(2), out=out)  # NAN
    print(out.numpy(), file=OUT)


def in_thread():
    def work():
        print(torch.zeros(1).div(0).item(), file=OUT)  # NAN
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def recomputed():
    weight = torch.zeros(2, requires_grad=True)

    def block(x):
        return torch.sqrt(x * weight) * 0  # NAN
    checkpoint(block, torch.ones(2), use_reentrant=False).sum().backward()
    with torch.no_grad():
        weight.sub_(weight.grad)


def in_a_loss_without_a_mode():
    weight = torch.zeros(2, 1, 3, requires_grad=True)
    scores = torch.log_softmax(weight, 2)
    loss = F.ctc_loss(scores, torch.tensor([[1, 1]]), torch.tensor([2]), torch.tensor([2]))  # NAN
    (loss * 2 + 1).backward()
    with torch.no_grad():
        weight.sub_(weight.grad)


class Divide(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0 / 0  # NAN


def in_custom_backward():
    trained(lambda weight, step: Divide.apply(weight).sum())


def by_many_tensors():
    weights = [torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)]
    with torch.no_grad():
        torch._foreach_div_(weights, [torch.ones(2), torch.zeros(2)])  # NAN


def by_all_of_many_tensors():
    weights = [torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)]
    with torch.no_grad():
        torch._foreach_div_(weights, [torch.zeros(2), torch.zeros(2)])  # NAN


class Labelled(torch.Tensor):
    pass


def by_a_subclass():
    labelled = torch.zeros(2).as_subclass(Labelled) / 0  # NAN
    later = (labelled + 1).as_subclass(torch.Tensor)
    print(later * 2, file=OUT)


def printed_as_a_subclass():
    print(torch.zeros(2).as_subclass(Labelled) / 0, file=OUT)  # NAN


def copied():
    means = torch.zeros(2) / 0  # NAN
    print(copy.deepcopy({"means": means}), file=OUT)


def second_of_two_written():
    mean, variance = torch.zeros(3), torch.zeros(3)
    torch.ops.aten._native_batch_norm_legit(torch.ones(1, 3), None, None, mean, variance, True, 1.0, 1e-5)  # NAN
    print(variance.tolist(), file=OUT)


def refused():
    torch.multinomial(torch.zeros(3) / 0, 1)  # NAN


def asserted():
    loss = torch.zeros(1) / 0  # NAN
    if torch.isnan(loss).any():
        raise ValueError("the loss is NaN")


def refused_by_a_distribution():
    scale = torch.zeros(1) / 0  # NAN
    torch.distributions.Normal(torch.zeros(1), scale)


def saved():
    torch.save({"state": [torch.zeros(2) / 0]}, io.BytesIO())  # NAN


def loaded_data():
    data = torch.tensor([1.0, NAN, 3.0])  # NAN
    trained(lambda weight, step: (weight * data).sum())


def under_vmap():
    print(torch.func.vmap(lambda x: x / x.sum())(torch.zeros(2, 2)), file=OUT)  # NAN


def under_grad():
    def loss(x):
        root = x.sqrt() - x.sqrt() / x * x  # NAN
        print(root, file=OUT)
        return root.sum()
    torch.func.grad(loss)(torch.zeros(2))


def after_transforms():
    def loss(x):
        return x.sqrt().sum()
    for transform in (torch.func.grad, torch.func.jacrev, torch.func.hessian):
        transform(loss)(torch.ones(3))
    torch.func.vmap(torch.func.grad(loss))(torch.ones(2, 3))
    print((torch.func.grad(loss)(torch.zeros(3)) * 0).tolist(), file=OUT)  # NAN


def after_nested_tensors():
    torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]) * 2
    print((torch.zeros(2) / 0).tolist(), file=OUT)  # NAN


def in_a_view():
    x = torch.ones(4, 4)
    x[2].div_(torch.tensor(0.0)).mul_(0)  # NAN
    print(x.t().sum().item(), file=OUT)


def kept_gradient():
    x = torch.zeros(2, requires_grad=True)
    kept.append(x)
    torch.sqrt(x.square().sum()).backward()  # NAN


kept = []

# Each function has NaN, or something that looks like NaN, but nothing must be reported.


def replaced():
    return torch.where(torch.zeros(2) > 0, torch.zeros(2) / 0, torch.ones(2)).sum().item()


def replaced_by_zero():
    return (torch.zeros(2) / 0).nan_to_num(0).tolist()


def unused():
    torch.zeros(2) / 0


def skipped():
    weight = torch.ones(2, requires_grad=True)
    for step in range(3):
        loss = (weight * (torch.zeros(()) if step == 1 else torch.ones(())) / (step != 1)).sum()
        if not torch.isfinite(loss):
            continue
        loss.backward()
        with torch.no_grad():
            weight -= weight.grad
    return weight.tolist()


def guarded_number():
    value = (torch.zeros(()) / 0).item()
    return 0 if math.isnan(value) else value


def hidden():
    scores = torch.zeros(2, 3).masked_fill(torch.tensor([True, False, True]), float("-inf"))
    return torch.softmax(scores, 1).tolist()


def marks():
    table = torch.tensor([1.0, NAN, 3.0])
    print(table, torch.nanmean(table), table[1], file=OUT)
    return torch.where(table > 2, table, torch.nan).tolist()


def marked_means():
    counts, sums = torch.tensor([0.0, 2.0]), torch.tensor([0.0, 3.0])
    print(torch.where(counts > 0, sums / counts, torch.nan), file=OUT)


def filled():
    means = torch.zeros(3) / torch.tensor([0.0, 1.0, 2.0])
    means[torch.isnan(means)] = 0
    return means.tolist()


def uninitialised():
    x = torch.empty(1000)
    x.fill_(NAN)
    x = torch.empty(1000)
    x.zero_()
    return x.sum().item()


def checked_and_repaired():
    weight = torch.ones(2, requires_grad=True)
    (weight * 0).sqrt().sum().backward()
    weight.grad.nan_to_num_(0, 0, 0)
    with torch.no_grad():
        weight -= weight.grad


def overwritten():
    x = torch.zeros(2) / 0
    x.copy_(torch.ones(2))
    return x.tolist()


FOUND = (divides, root_in_backward, masked_root, in_a_loss_without_a_mode, norm_of_nothing, deviation_of_one, hidden_row, overflows,
         through_eight_bits, in_place, into_another, in_thread, recomputed, in_custom_backward, by_many_tensors,
         by_all_of_many_tensors, by_a_subclass, printed_as_a_subclass, copied, second_of_two_written, refused, asserted,
         refused_by_a_distribution, saved, loaded_data, under_vmap, under_grad, after_transforms, after_nested_tensors,
         in_a_view, kept_gradient)
SILENT = (replaced, replaced_by_zero, unused, skipped, guarded_number, hidden, marks, marked_means, filled, uninitialised,
          checked_and_repaired, overwritten)


def marked_line(function):
    import inspect
    source, first = inspect.getsourcelines(Divide if function is in_custom_backward else function)
    return next(first + at for at, line in enumerate(source) if "# NAN" in line)


class Nans(unittest.TestCase):
    def test_the_line_that_makes_it_is_found(self):
        for function in FOUND:
            with self.subTest(function.__name__):
                message = verdict(function)
                self.assertIsNotNone(message)
                self.assertEqual(line_of(message), marked_line(function), message)

    def test_many_tensors_that_the_operator_wrote_are_not_its_inputs(self):
        self.assertEqual(verdict(by_all_of_many_tensors)["role"], "made")

    def test_the_first_of_many_writes_to_one_tensor_is_found(self):
        def long():
            rows, columns = torch.ones(2000, 2), torch.ones(2, 2000)
            for number in range(2000):
                rows[number] = torch.zeros(2) / 0  # NAN
                columns[:, number] = rows[number]
            print(columns[0, 1900:].sum(), file=OUT)
        self.assertEqual(line_of(verdict(long)), marked_line(long))
        for storage in package.value_uses.watch.writers.storages.values():
            self.assertLessEqual(len(storage.pieces), package.lineage.Writers.MOST_PIECES)

    def test_what_the_program_replaces_or_asks_for_is_not(self):
        for function in SILENT:
            with self.subTest(function.__name__):
                self.assertIsNone(verdict(function))


class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.sqrt(x)  # NAN


class Modules(unittest.TestCase):
    def test_a_module_that_has_moved_has_its_new_path(self):
        model = torch.nn.Sequential(Inner(), Inner())

        def shortened():
            model(torch.ones(1, requires_grad=True))
            del model[0]
            print(model(-torch.ones(1)), file=OUT)
        message = verdict(shortened)
        self.assertEqual((message["module"], message["module_class"]), ("0", "Inner"))


class TimeIsUp(Exception):
    pass


def time_is_up(*_):
    raise TimeIsUp


class Interrupted(unittest.TestCase):
    def test_what_a_signal_handler_raises_reaches_the_program(self):
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, time_is_up))
        reached = []

        def loops():
            x, end = torch.ones(3), time.monotonic() + 0.5
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                while time.monotonic() < end:
                    x = x * 1 + 0
            except TimeIsUp:
                reached.append(True)
        for _ in range(20):
            verdict(loops)
        self.assertEqual(len(reached), 20)


class Event:
    """An event that the GPU has reached when it is queried for the third time."""

    def record(self, stream):
        self.asked, self.stream = 0, stream

    def query(self):
        self.asked += 1
        return self.asked > 2

    def synchronize(self):
        self.asked = 9


class Later(unittest.TestCase):
    """Runs the GPU checks on tensors of the host; only CUDA's part is replaced."""

    def setUp(self):
        devices = package.tensors.devices
        devices.append("cpu")
        self.addCleanup(devices.remove, "cpu")
        for replaced in (mock.patch.object(torch.cuda, "Event", Event),
                         mock.patch.object(torch.cuda, "current_stream", lambda device=None: ("stream of", device)),
                         mock.patch.object(torch.cuda, "synchronize", lambda device=None: None),
                         mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda device: 7, create=True)):
            replaced.start()
            self.addCleanup(replaced.stop)

    def test_the_line_that_makes_it_is_found(self):
        for function in FOUND:
            with self.subTest(function.__name__):
                message = verdict(function)
                self.assertIsNotNone(message)
                self.assertEqual(line_of(message), marked_line(function), message)

    def test_what_the_program_replaces_or_asks_for_is_not(self):
        for function in SILENT:
            with self.subTest(function.__name__):
                self.assertIsNone(verdict(function))

    def test_the_checks_themselves_are_not_checked(self):
        kind, core, seen = package.finite_checks.Slots, torch._C, []
        wait = kind.wait

        def watched(slots):
            seen.append(core._dispatch_tls_is_dispatch_key_excluded(core.DispatchKey.Python))
            wait(slots)
        kind.wait = watched
        self.addCleanup(setattr, kind, "wait", wait)
        verdict(FOUND[0])
        self.assertEqual(seen, [True])

    def test_a_page_that_is_full_is_read_while_the_program_runs(self):
        def long():
            weight = torch.ones(2, requires_grad=True)
            for step in range(2 * package.finite_checks.PAGE):
                with torch.no_grad():
                    weight.mul_(0 if step == 9 else 1)
                    if step == 12:
                        weight.div_(weight)  # NAN
        message = verdict(long)
        self.assertEqual((line_of(message), message["used"]), (marked_line(long), "parameter"))
        self.assertLess(package.value_uses.watch.ordinal, 2 * package.finite_checks.PAGE)

    def test_nothing_is_kept_of_results_without_bad_elements(self):
        kept = []

        def adds():
            for step in range(2 * package.finite_checks.PAGE):
                kept.append(torch.ones(2) + step)
        verdict(adds)
        self.assertEqual(package.value_uses.watch.writers.storages, {})

    def test_pages_use_the_memory_of_earlier_pages(self):
        slots = package.finite_checks.slots
        slots.__init__()

        def long():
            x = torch.ones(2)
            for _ in range(8 * package.finite_checks.PAGE):
                x.mul_(1)
        verdict(long)
        self.assertEqual([len(free) for free in slots.free.values()], [2])  # the others are in use

    def test_an_event_is_recorded_on_the_gpu_of_its_page(self):
        buffer = package.finite_checks.Buffer(torch.device("cpu"), torch.float32)
        buffer.send()
        self.assertEqual(buffer.event.stream, ("stream of", torch.device("cpu")))

    def test_of_many_tensors_the_bad_one_is_found(self):
        page = package.finite_checks.PAGE

        def by_many(bad, used):
            weights = [torch.ones(2) for _ in range(3 * page)] + [torch.ones(2, dtype=torch.float64)]
            weights[bad].mul_(0)
            torch._foreach_div_(weights, weights)  # NAN
            print(weights[used].tolist(), file=OUT)
        for bad in (0, page + 1, 3 * page - 1, 3 * page):
            self.assertEqual(line_of(verdict(lambda: by_many(bad, bad))), marked_line(by_many))
            self.assertIsNone(verdict(lambda: by_many(bad, bad // 2 + 1)))

    def test_threads_at_once(self):
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self.addCleanup(sys.setswitchinterval, interval)

        def by_threads():
            def work(number):
                x = torch.ones(20000)
                for step in range(1500):
                    y = x * 2 + 1
                    if number == 0 and step == 700:
                        y = y * 0
                        print((y / y).sum().item(), file=OUT)  # NAN
                    if number and step % 100 == 0:
                        y.sum().item()
            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        message = verdict(by_threads)
        self.assertEqual(line_of(message), marked_line(by_threads))

    def test_a_part_without_nan_is_not_taken_for_its_tensor_while_blocking(self):
        def part():
            package.value_uses.watch.waits = True
            means = torch.zeros(3, 4) / torch.tensor([[0.0], [1.0], [1.0]])
            print(means[1] / means[2], file=OUT)  # NAN

        def overwritten_in_columns():
            package.value_uses.watch.waits = True
            x = torch.zeros(4, 4) / 0
            x[:, ::2] = 0
            x[:, 1::2] = 0
            print(x / x, file=OUT)  # NAN
        for function in (part, overwritten_in_columns):
            self.assertEqual(line_of(verdict(function)), marked_line(function))

    def test_a_check_of_a_rare_type_does_not_hold_back_the_others(self):
        def mixed():
            weight, rare = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.float16)
            for step in range(2 * package.finite_checks.PAGE):
                with torch.no_grad():
                    weight.mul_(0 if step == 9 else 1)
                    if step == 5:
                        rare.add_(1)
                    if step == 12:
                        weight.div_(weight)  # NAN
        message = verdict(mixed)
        self.assertEqual((line_of(message), message["used"]), (marked_line(mixed), "parameter"))
        self.assertLess(package.value_uses.watch.ordinal, 2 * package.finite_checks.PAGE)


if __name__ == "__main__":
    unittest.main()
