"""The way of a bad element back through the operators that carried it, to the one that made it or gave it entry.

What is not certain is not told: results that were not looked at, memory that somebody else wrote to, and several
tensors that have bad elements all end the way.
"""
MOST_STEPS = 64  # back
MOST_TOLD = 5

# They move an element by a little: one that was bad before was not made bad there. What other operators are given, such as
# a hash before its remainder, may be of another kind than their results.
SHIFTS = ("add", "add_", "sub", "sub_", "abs", "unique", "_unique2", "unique_dim", "minimum", "maximum", "clamp_min",
          "clamp", "clamp_", "amax", "amin", "max", "min", "relu", "relu_")
# They keep the sign, and nothing else, of what they are given.
QUOTIENTS = ("div", "div_", "floor_divide", "floor_divide_")
# They bring any number into a range of their own.
WRAPS = ("remainder", "remainder_", "fmod", "fmod_", "bitwise_and", "bitwise_and_")
# Their results are elements of their arguments in another type.
CONVERSIONS = ("_to_copy", "copy_", "index_put_", "index_put", "scatter", "scatter_")
BELOW, ABOVE, NOT_A_NUMBER = range(3)


class Bad:
    """An element outside of its bound, and the side on which it lies."""

    def __init__(self, value, bound):
        self.value, self.bound = value, bound
        self.side = NOT_A_NUMBER if value != value else BELOW if value < bound.least else ABOVE
        self.made_by = None  # the result that has the value first, if nothing on its way changed it

    def is_in(self, least, greatest):
        """Whether there are elements on its side; they may be others than the one that is looked for. None: not known."""
        if least is None:
            return None
        if self.side == NOT_A_NUMBER:
            return least != least
        if least != least or self.bound.ignored in (least, greatest):
            return None  # it hides the others
        return least < self.bound.least if self.side == BELOW else greatest > self.bound.most

    def is_extreme_of(self, least, greatest):
        return self.value == (least if self.side == BELOW else greatest)


class Unknown(Exception):
    """The way ends where nothing is known for certain."""


def only(results):
    """One result, or several of one call site, of which the latest is given."""
    if not results or not all(results[-1].same_call_site(each) for each in results):
        raise Unknown
    return results[-1]


def inputs_with(result, bad):
    """(results that hold bad elements, whether such have entered with a tensor of which nothing is known before,
    whether nothing is known of some input)."""
    found, entered, unknown = [], False, result.inputs is None
    for results, least, greatest in result.inputs or ():
        if not results:
            has = bad.is_in(least, greatest)
            entered, unknown = entered or has is True, unknown or has is None
        for each in results:
            has = bad.is_in(each.least, each.greatest)
            if has:
                found.append(each)
            unknown = unknown or has is None
    return found, entered, unknown


def is_given(result, bad):
    """Whether the operator has a bad number for an argument."""
    return result.facts.structural and any(bad.is_in(each, each) for each in result.given)


def leads_on(result, bad):
    """Whether a bad element of the result may have been bad before."""
    facts = result.facts
    if result.is_index:
        return False
    return facts.structural or bad.side == NOT_A_NUMBER or bad.value in (float("inf"), float("-inf")) or \
        (facts.own and (facts.name in SHIFTS or (bad.side == BELOW and facts.name in QUOTIENTS)))


def carried_unchanged(result, bad):
    """Elsewhere than in what shifts elements: by an operator that left this one as it was, as a mask does."""
    if not result.facts.pointwise or result.facts.name in WRAPS:
        return False
    ranges = [(least, greatest) for results, least, greatest in result.inputs or () if not results] + \
        [(each.least, each.greatest) for results, _, _ in result.inputs or () for each in results]
    return any(least is not None and bad.is_extreme_of(least, greatest) for least, greatest in ranges)


class Way:
    def __init__(self, bad):
        self.bad = bad
        self.steps = []  # results that hold the element, the latest first
        self.role, self.certain = "made", True
        self.is_value_known = True

    def follow(self, result):
        """The result before it that holds the element; None: it was made here, or entered."""
        bad, facts = self.bad, result.facts
        self.steps.append(result)
        if facts.enters or facts.lifts:
            self.role = facts.role if facts.enters else "copied"
            return None
        found, entered, unknown = inputs_with(result, bad)
        given = is_given(result, bad)
        if not leads_on(result, bad) and not carried_unchanged(result, bad):
            return self.make(result, found or entered, unknown)
        if (given and (found or entered)) or (entered and found) or (unknown and not given and not found and not entered):
            raise Unknown
        if found:
            self.certain = self.certain and not unknown and (facts.structural or facts.name in SHIFTS)
            self.is_value_known = self.is_value_known and facts.structural
            return only(found)
        if given:
            self.role, self.certain = "passed", self.certain and not unknown
        elif entered:
            self.role, self.certain = "copied", False
        elif facts.structural and facts.name not in CONVERSIONS:
            raise Unknown  # it makes no values: somebody else wrote into what it was given
        return None

    def make(self, result, had_bad, unknown):
        is_own_kind = result.facts.name in WRAPS or result.is_index or not result.facts.pointwise
        self.certain = self.certain and (is_own_kind or not (had_bad or unknown))


def origin_of(writers, element, bad):
    """([(result, role)], certain): the origin, then what carried the element; ([], False): it is not known. `element`: a
    tensor of that one alone."""
    way = Way(bad)
    try:
        results = writers.values_in(element)
        result = only([each for each in results if bad.is_in(each.least, each.greatest)])
        while result is not None:
            if len(way.steps) == MOST_STEPS:
                raise Unknown
            result = way.follow(result)
    except Unknown:
        return [], False
    bad.made_by = way.steps[-1] if way.is_value_known else None
    told = [(way.steps[-1], way.role)]
    told += [(each, "copied" if each.facts.structural else "passed") for each in way.steps[-2::-1]]
    return told[:MOST_TOLD], way.certain
