#!/usr/bin/env python3
"""The programs' numbers depend on how causes are judged, so the judgement must detect each kind of difference."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check import OTHER_WORDS, RIGHT, UNKNOWN, WRONG, is_correct, judged_cause, shortfalls_of_cause  # noqa: E402

LABEL = {"error": [700], "cause": "The table has a pointer to a page that was freed.",
         "must_contain": ["freed|released"], "must_not": ["past the end"]}


def said(text, fix="", **access):
    return judged_cause({"cause": {"text": text, "facts": {}}, "access": access, "fix": [fix], "memory": None}, LABEL)


class Judgement(unittest.TestCase):
    def test_a_cause_needs_the_words_in_any_case(self):
        self.assertEqual(said("The page was Released."), RIGHT)
        self.assertEqual(said("The page moved."), OTHER_WORDS)
        self.assertEqual(said(""), UNKNOWN)
        self.assertEqual(judged_cause({"cause": None, "access": None, "fix": [], "memory": None}, LABEL), UNKNOWN)

    def test_a_tempting_cause_is_wrong_even_with_the_right_words(self):
        self.assertEqual(said("The address is past the end of a page that was freed."), WRONG)
        self.assertEqual(said("The page was freed.", fix="Or read less, if it is past the end."), RIGHT)

    def test_the_relation_of_the_access_counts(self):
        self.assertEqual(said("", relation="freed"), RIGHT)
        self.assertEqual(said("", relation="unknown"), UNKNOWN)

    def test_a_program_without_an_error_is_correct_only_without_a_cause(self):
        self.assertTrue(is_correct({"error": [0]}))
        self.assertTrue(is_correct({"error": [0], "cause": None}))
        self.assertFalse(is_correct({**LABEL, "error": [0]}))

    def test_a_label_must_pass_its_own_judgement(self):
        self.assertEqual(shortfalls_of_cause(LABEL), [])
        for change in ({"must_contain": []}, {"must_contain": ["null"]}, {"must_not": ["freed"]}, {"cause": None}):
            self.assertTrue(shortfalls_of_cause({**LABEL, **change}), change)


if __name__ == "__main__":
    unittest.main()
