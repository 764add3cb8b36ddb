"""Kernels of a backward pass, launched by a stand-in for PyTorch. Each function's name says what it tests."""

import re

from harness import expect, expect_in, program, true_line

SOURCE = "backward.py"
BAD = "fault kernel=bad nth=1 code=700"


def failing(machine, what, **environment):
    machine.plan(BAD)
    machine.environment.update(environment)
    machine.run(*program(SOURCE, what))
    return machine.report()["findings"][0]


def place(location):
    return location["file"], location["line"]


def related(finding):
    return {line["role"]: place(line) for line in finding["related"]}


def backward_kernel_has_its_forward_line(machine):
    finding = failing(machine, "gather")
    line = true_line(SOURCE, "TRUE LINE gather")
    expect(place(finding["location"]), line, "true line")
    expect(related(finding), {"forward": line, "backward": true_line(SOURCE, "BACKWARD LINE")}, "related lines")
    expect_in("the forward-pass line is inferred", finding["evidence"]["because"], "evidence")
    text = machine.cudadiag("report").stdout
    expect_in(":%d, <module> (inferred)\n        GatherBackward0, backward() called at " % line[1], text, "text")
    assert "of this line" not in text, text


def confirmed(machine, what):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.plan(BAD)
    machine.run(*program(SOURCE, what), options=["--rerun=always", "--no-device-pass"], timeout=60)
    report = machine.report()
    expect([each["outcome"] for each in report["passes"]], ["bracketed", "proven"], "passes")
    return report["findings"][0]


def rerun_proves_the_forward_line(machine):
    for what in ("gather", "function", "twice"):
        finding = confirmed(machine, what)
        (forward,) = [line for line in finding["related"] if line["role"] == "forward"]
        expect((place(forward), forward["grade"]), (true_line(SOURCE, "TRUE LINE " + what), "proven"), what)
        expect_in("PyTorch recorded the forward-pass line when it created the autograd node",
                  finding["evidence"]["because"], "evidence")
        expect_in("(proven)", machine.cudadiag("report").stdout, "text")


def rerun_finds_the_forward_line_of_a_view(machine):
    finding = confirmed(machine, "view")
    expect(place(finding["location"]), true_line(SOURCE, "TRUE LINE view"), "true line")
    expect(related(finding)["forward"], true_line(SOURCE, "TRUE LINE view"), "forward line")


def forward_line_of_another_node_proves_nothing(machine):
    confirmed(machine, "gather")
    (file,) = machine.state.glob("cudadiag/latest/confirm/*.values")
    told = file.read_text()
    for damage in (lambda line: re.sub(r'"number":\d+', '"number":77', line),
                   lambda line: line.replace("GatherBackward0", "SliceBackward0"),
                   lambda line: re.sub(r"^\d+", "1", line, flags=re.MULTILINE),
                   lambda line: re.sub(r'"stacks":.*', '"stacks":[[]]}', line)):
        expect(damage(told) != told, True, "damage")
        file.write_text(damage(told))
        (forward,) = [line for line in machine.report()["findings"][0]["related"] if line["role"] == "forward"]
        expect(forward["grade"], "inferred", "grade")


def function_of_the_users_has_the_line_that_called_it(machine):
    expect(related(failing(machine, "function"))["forward"], true_line(SOURCE, "TRUE LINE function"), "forward line")


def double_backward_leads_to_the_first_forward_line(machine):
    expect(related(failing(machine, "twice"))["forward"], true_line(SOURCE, "TRUE LINE twice"), "forward line")


def view_has_no_line_of_another_operator(machine):
    finding = failing(machine, "view")
    expect("forward" in related(finding), False, "a forward line")
    expect((finding["location"]["file"] or "").endswith(SOURCE), False, "a line of the program")
    expect_in("Forward unknown for SliceBackward0: the launches with this node's sequence number belong to other operators", " ".join(machine.cudadiag("report").stdout.split()), "text")


def second_backward_call_is_not_taken_for_the_first(machine):
    finding = failing(machine, "explicit")
    expect(related(finding), {"forward": true_line(SOURCE, "TRUE LINE gather")}, "related lines")


def other_layout_switches_it_off(machine):
    finding = failing(machine, "gather", OTHER_TORCH="1")
    expect(finding["related"], [], "related lines")
    notes = [note["code"] for note in machine.report()["notes"]]
    expect_in("forward-lines-off", notes, "notes")
