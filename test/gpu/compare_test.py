"""The GPU tests rely on this comparison, so it must detect every kind of difference."""

import copy
import dataclasses
import re
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES  # noqa: E402
from compare import (MARKS, ROLES, Line, differences, explained_shortfalls, explained_summary, first_answer, first_answers_shortfalls,  # noqa: E402
                     first_answers_summary, framework_shortfalls, framework_summary, is_explained, line_of_headline, line_of_traceback, marked_lines, name_of, outcome_of_cause)
from run import failed, outcomes  # noqa: E402

FOLDER = Path(__file__).parent
CASE = {case.name: case for case in CASES}


def at(file, line):
    return {"file": "/elsewhere/" + file, "line": line, "function": "main", "language": "c++", "source": ""}


def report_of(location, reported_at, code=700, kernel="far_load(int*)", candidates=(), related=()):
    return {
        "schema": "cudadiag.report/1",
        "verdict": "cuda_failure",
        "passes": [{"name": "record", "outcome": "bracketed"}, {"name": "confirm", "outcome": "proven"}],
        "findings": [{
            "kind": "async_error", "error": {"code": code}, "location": location, "reported_at": reported_at,
            "related": list(related), "launch": {"kernel": kernel},
            "candidates": [{"location": c, "because": ""} for c in candidates],
        }],
    }


def without_reruns(report):
    return {**report, "passes": report["passes"][:1]}


class Arguments(unittest.TestCase):
    def test_all_members_are_of_one_argument(self):
        case = CASE["value_gather"]
        marks = marked_lines(case, FOLDER)
        true = marks["TRUE LINE"][0]
        report = report_of(at(*true), at(*marks["BLAMED"][0]), code=710)
        right = dict(case.argument)
        report["findings"][0]["cause"] = {"id": "index-out-of-range"}
        for arguments, problems in (([right], 0), ([{**right, "max": 9}], 1), ([], 1), ([{"name": "x"}, right], 0)):
            report["findings"][0]["arguments"] = arguments
            self.assertEqual(len(differences(case, report, marks)), problems, arguments)


class Marks(unittest.TestCase):
    def test_every_failing_case_has_its_line_and_its_sources(self):
        for case in CASES:
            marks = marked_lines(case, FOLDER)
            wants_line = case.verdict == "cuda_failure" and not case.any_line
            self.assertEqual("TRUE LINE" in marks, wants_line, case.name)

    def test_names_are_unique(self):
        self.assertEqual(len(CASE), len(CASES))

    def test_a_word_restricts_a_mark(self):
        trap, stack = (marked_lines(CASE["fault_" + kind], FOLDER)["TRUE LINE"] for kind in ("trap", "stack"))
        self.assertEqual((len(trap), len(stack)), (1, 1))
        self.assertNotEqual(trap, stack)

    def test_what_begins_as_a_mark_is_one(self):
        begins = re.compile(r"(?://|#) (?:TRUE LINE|[A-Z]{5,})\b")
        for source in {source for case in CASES for source in case.sources}:
            for number, text in enumerate((Path(FOLDER) / source).read_text().splitlines(), 1):
                if begins.search(text):
                    self.assertRegex(text, MARKS, f"{source}:{number}")

    def test_every_related_line_that_is_marked_is_looked_for(self):
        for case in CASES:
            marks = marked_lines(case, FOLDER)
            for role in ROLES if "TRUE LINE" in marks else []:
                for line in marks.get(role.upper(), []):
                    problems = differences(case, report_of(at(*marks["TRUE LINE"][0]), None), marks)
                    self.assertIn(f"does not name the {role} {name_of(line)}", problems, case.name)

    def test_a_line_may_have_two(self):
        marks = marked_lines(CASE["ctypes_library"], FOLDER)
        self.assertEqual(len(marks["TRUE LINE"]), 1)
        self.assertEqual(len(marks["BLAMED"]), 2)
        self.assertIn(marks["TRUE LINE"][0], marks["BLAMED"])


class Failing(unittest.TestCase):
    case = CASE["third_of_ten"]
    marks = {"TRUE LINE": [Line("a.cu", 13)], "BLAMED": [Line("a.cu", 15)]}

    def setUp(self):
        self.report = report_of(at("a.cu", 13), at("a.cu", 15))
        self.finding = self.report["findings"][0]

    def check(self, *expected):
        self.assertEqual(differences(self.case, self.report, self.marks), list(expected))

    def test_the_expected_report_passes(self):
        self.check()

    def test_a_better_grade_passes_and_a_worse_one_does_not(self):
        self.report["passes"][0]["outcome"] = "proven"
        self.check()
        self.report["passes"][0]["outcome"] = "inferred"
        self.check("the first run is only inferred, not bracketed")

    def test_the_rerun_must_end_as_expected(self):
        self.report["passes"][1]["outcome"] = "did not fail"
        self.check("reruns: ['did not fail'], not proven")
        self.report["passes"].pop()
        self.check("reruns: [], not proven")

    def test_wrong_lines(self):
        self.finding["location"] = at("a.cu", 15)
        self.finding["reported_at"] = None
        self.check("names a.cu:15, not a.cu:13", "noticed at nowhere, not a.cu:15")

    def test_it_may_be_noticed_between_the_true_line_and_the_blamed_one_of_the_same_file(self):
        self.finding["reported_at"] = at("a.cu", 14)
        self.check()
        self.finding["reported_at"] = at("a.cu", 16)
        self.check("noticed at a.cu:16, not a.cu:15")
        self.finding["reported_at"] = at("a.cu", 13)
        self.check("noticed at a.cu:13, not a.cu:15")
        self.finding["reported_at"] = at("b.cu", 14)
        self.check("noticed at b.cu:14, not a.cu:15")

    def test_a_traceback_says_where_it_was_noticed(self):
        def found(traceback):
            return differences(self.case, self.report, self.marks, traceback)
        self.assertEqual(found(Line("a.cu", 15)), [])
        self.assertEqual(found(Line("a.cu", 14)), ["noticed at a.cu:15, the traceback says a.cu:14"])

    def test_the_same_line_of_another_file_is_wrong(self):
        self.finding["location"] = at("b.cu", 13)
        self.check("names b.cu:13, not a.cu:13")

    def test_kind_code_and_kernel(self):
        self.finding.update(kind="sync_error", error={"code": 1}, launch=None)
        self.check("kind sync_error, not async_error", "code 1, not 700", "kernel '', not far_load")

    def test_nothing_found(self):
        self.report.update(verdict="no_cuda_failure", findings=[])
        self.check("verdict no_cuda_failure, not cuda_failure", "no finding")

    def test_another_contract(self):
        self.report["schema"] = "cudadiag.report/2"
        self.check("schema 'cudadiag.report/2'")


class Traceback(unittest.TestCase):
    text = """step 1
Traceback (most recent call last):
  File "/t/python/first.py", line 1, in <module>
RuntimeError: handled

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/t/python/loss.py", line 30, in <module>
    step()
  File "/t/python/loss.py", line 21, in step
    print(loss.item())
          ^^^^^^^^^^^
  File "/usr/lib/python3.12/site-packages/torch/_tensor.py", line 9, in item
RuntimeError: CUDA error
cudadiag: loss.py:12
"""

    def test_the_innermost_line_of_the_users_in_the_last_one(self):
        self.assertEqual(line_of_traceback(self.text, "/t/python"), Line("loss.py", 21))

    def test_none(self):
        self.assertIsNone(line_of_traceback(self.text, "/elsewhere"))
        self.assertIsNone(line_of_traceback("all went well", "/t/python"))


class Several(unittest.TestCase):
    def test_candidates_count_only_where_the_case_lets_them(self):
        marks = {"TRUE LINE": [Line("a.cu", 1)], "CANDIDATE": [Line("a.cu", 2)]}
        report = report_of(at("a.cu", 2), None, candidates=[at("a.cu", 1)])
        self.assertEqual(differences(CASE["streams_apart"], without_reruns(report), marks), [])
        self.assertEqual(differences(CASE["third_of_ten"], report, marks), ["names a.cu:2, not a.cu:1"])
        unlisted = report_of(at("a.cu", 1), None)
        self.assertEqual(differences(CASE["streams_apart"], without_reruns(unlisted), marks), ["does not list a.cu:2"])

    def test_the_caller_is_a_related_line(self):
        marks = {"TRUE LINE": [Line("s.cu", 9)], "CALLER": [Line("c.py", 5)]}
        report = report_of(at("s.cu", 9), None, kernel="smooth_kernel",
                           related=[{"role": "caller", **at("c.py", 5)}])
        self.assertEqual(differences(CASE["ctypes_library"], report, marks), [])
        report["findings"][0]["related"][0]["role"] = "swallowed"
        self.assertEqual(differences(CASE["ctypes_library"], report, marks), ["does not name the caller c.py:5"])

    def test_a_broken_capture_was_begun_and_noticed_elsewhere(self):
        marks = {"TRUE LINE": [Line("s.cu", 9)], "CAPTURE": [Line("s.cu", 5)], "BLAMED": [Line("s.cu", 12)]}
        report = report_of(at("s.cu", 9), at("s.cu", 12), 900, "", related=[{"role": "capture", **at("s.cu", 5)}])
        finding = report["findings"][0]
        finding["kind"], report["passes"] = "capture_violation", [{"name": "record", "outcome": "proven"}]
        self.assertEqual(differences(CASE["capture_allocated"], report, marks), [])
        finding["related"], finding["reported_at"] = [], at("s.cu", 13)
        self.assertEqual(differences(CASE["capture_allocated"], report, marks),
                         ["noticed at s.cu:13, not s.cu:12", "does not name the capture s.cu:5"])


class Causes(unittest.TestCase):
    def outcome(self, case, cause):
        marks = marked_lines(case, FOLDER)
        report = report_of(at(*marks["TRUE LINE"][0]), None, case.codes[0], case.kernel)
        finding = report["findings"][0]
        finding["cause"] = {"id": cause} if cause else None
        wrong = [x for x in differences(case, report, marks) if "cause" in x]
        return outcome_of_cause(case, finding), wrong

    def test_every_framework_failure_states_its_cause_and_no_other_case_is_unseen(self):
        for case in CASES:
            self.assertTrue(case.cause or not case.is_framework_failure, case.name)
            self.assertTrue(case.cause or not case.unseen, case.name)

    def test_half_of_them_were_not_shown_to_the_rules(self):
        failures = [case for case in CASES if case.is_framework_failure]
        self.assertGreaterEqual(len(failures), 30)
        self.assertGreaterEqual(sum(case.unseen for case in failures) * 2, len(failures))

    def test_a_missing_cause_only_counts_where_the_rules_had_not_seen_it(self):
        self.assertEqual(self.outcome(CASE["embedding"], "index-out-of-range"), ("right", []))
        self.assertEqual(self.outcome(CASE["embedding"], ""),
                         ("none", ["the cause is not told, not index-out-of-range"]))
        self.assertEqual(self.outcome(CASE["vmapped"], ""), ("none", []))

    def test_a_wrong_cause_is_a_difference_everywhere(self):
        wrong = ["the cause is null-pointer, not index-out-of-range"]
        self.assertEqual(self.outcome(CASE["embedding"], "null-pointer"), ("wrong", wrong))
        self.assertEqual(self.outcome(CASE["vmapped"], "null-pointer"), ("wrong", wrong))

    def test_where_none_may_be_told_none_is_right(self):
        case = dataclasses.replace(CASE["embedding"], cause=("",))
        self.assertEqual(self.outcome(case, ""), ("right", []))
        self.assertEqual(self.outcome(case, "null-pointer"), ("wrong", ["the cause is null-pointer, not none"]))

    def test_any_of_several_is_right(self):
        for cause in ("position-past-table", "index-out-of-range"):
            self.assertEqual(self.outcome(CASE["transformer_positions"], cause), ("right", []))

    def test_cases_that_judge_no_cause(self):
        self.assertEqual(self.outcome(CASE["third_of_ten"], "null-pointer"), ("", []))

    def test_the_first_report_is_told_from_the_later_ones(self):
        text = ("step 1\ncudadiag: device-side assert (710) in python/loss.py:41, forward    [inferred]\n"
                "Blamed  loss.py:88\ncudadiag: a rerun blames another line: device-side assert (710) in loss.py:42\n")
        self.assertEqual(line_of_headline(text), Line("loss.py", 41))
        self.assertEqual(line_of_headline("cudadiag: device-side assert (710) in kernel (line unknown)\n"), None)

    def test_the_summary(self):
        case = CASE["vmapped"]
        marks = marked_lines(case, FOLDER)
        true = marks["TRUE LINE"][0]
        finding = report_of(at(*true), None)["findings"][0]
        finding["cause"] = {"id": "index-out-of-range"}
        lost = report_of(at("other.py", 1), None)["findings"][0]

        def result(case, finding, first):
            return SimpleNamespace(**outcomes(case, finding, marks, first))
        results = [result(case, finding, true), result(case, finding, Line("other.py", 1)),
                   result(case, {**finding, "cause": {"id": "trap"}}, None), result(case, lost, true),
                   SimpleNamespace(**outcomes(CASE["triton_load"], lost, marks, None)), failed(case, "no end")]
        self.assertEqual(framework_summary(results),
                         "framework cases: 6; line right first 2, after reruns 3; cause right 3 (1 of them rightly "
                         "not told), none 2, wrong 1; unseen: 5, cause right 2")


    def test_many_must_be_right(self):
        right = SimpleNamespace(line_first="right", line="right", cause="right")
        lost = SimpleNamespace(line_first="wrong", line="wrong", cause="none")
        self.assertEqual(framework_shortfalls([lost] * 29), [])
        self.assertEqual(framework_shortfalls([right] * 30), [])
        self.assertEqual(framework_shortfalls([right] * 35 + [lost] * 4),
                         ["framework cases: line_first right in 35 of 39, less than 90%",
                          "framework cases: line right in 35 of 39, less than 100%"])
        self.assertEqual(len(framework_shortfalls([right] * 30 + [lost] * 8)), 3)


class Correct(unittest.TestCase):
    def test_any_finding_is_a_difference(self):
        clean = {"schema": "cudadiag.report/1", "verdict": "no_cuda_failure", "findings": []}
        self.assertEqual(differences(CASE["captures"], clean, {}), [])
        noisy = copy.deepcopy(clean)
        noisy["findings"] = report_of(at("a.cu", 3), None)["findings"]
        self.assertEqual(differences(CASE["captures"], noisy, {}), ["reports async_error at a.cu:3"])


class FirstAnswers(unittest.TestCase):
    def test_grade_and_number_of_operations(self):
        headline = "cudadiag: illegal memory access (700) in a.cu:9, main          [inferred]\n"
        known = "Known   4,000 operations on 2 streams\n        may have been running, the likeliest first\n"
        again = headline.replace("inferred", "proven")
        self.assertEqual(first_answer("noise\n" + headline + known + again), ("inferred", 4000))
        self.assertEqual(first_answer(headline + "Known   operation 2 on stream 0x1 had finished\n"), ("inferred", 1))
        self.assertIsNone(first_answer("cudadiag: no CUDA failure was recorded\n"))

    def test_what_they_reach(self):
        answers = [("bracketed", 1)] * 24 + [("inferred", 16)] * 3 + [("inferred", 64)] * 3
        self.assertEqual(first_answers_summary(answers), "first answers to asynchronous failures: 30; bracketed 24; "
                         "one of 16 operations at most 3, of 64 at most 3")
        self.assertEqual(first_answers_shortfalls(answers), [])
        self.assertEqual(first_answers_shortfalls([*answers[1:], ("suspected", 1)]),
                         ["first answers: bracketed in 23 of 30, less than 80%"])
        self.assertEqual(first_answers_shortfalls([("suspected", 1)] * 29), [])


class Explained(unittest.TestCase):
    def finding(self, relation, allocation=None, cause=None, code=700):
        return {"error": {"code": code}, "access": {"relation": relation, "allocation": allocation},
                "cause": cause and {"id": cause}}

    def test_memory_and_relation_or_a_cause(self):
        self.assertTrue(is_explained(self.finding("past_end", {"bytes": 4})))
        self.assertTrue(is_explained(self.finding("null")))
        self.assertTrue(is_explained(self.finding("unknown", cause="known-bug")))
        self.assertFalse(is_explained(self.finding("past_end")))
        self.assertFalse(is_explained(self.finding("unknown", {"bytes": 4})))
        self.assertFalse(is_explained({"error": {"code": 700}}))
        self.assertIsNone(is_explained(self.finding("null", code=710)))

    def test_what_they_reach(self):
        self.assertEqual(explained_summary([True, True, False]),
                         "illegal addresses: 3; with memory and relation, or a more specific cause: 2")
        self.assertEqual(explained_shortfalls([True] * 30 + [False] * 10), [])
        self.assertEqual(explained_shortfalls([True] * 29 + [False] * 11),
                         ["illegal addresses: explained in 29 of 40, less than 75%"])
        self.assertEqual(explained_shortfalls([False] * 29), [])


if __name__ == "__main__":
    unittest.main()
