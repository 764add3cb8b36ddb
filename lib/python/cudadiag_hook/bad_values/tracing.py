"""Traces a bad element back through the operators that passed it on, to the operator that produced it or the place
where it entered.

Only certain steps are reported. Tracing ends at results that were not read, at memory that other code wrote to, and
where several tensors have bad elements.
"""
MOST_STEPS = 64  # limit of steps back
MOST_TOLD = 5

# These operators change an element only slightly: if the result is bad, the argument may have been bad too. For other
# operators, an argument may mean something different from the result, such as a hash whose remainder is computed.
SHIFTS = ("add", "add_", "sub", "sub_", "abs", "unique", "_unique2", "unique_dim", "minimum", "maximum", "clamp_min",
          "clamp", "clamp_", "amax", "amin", "max", "min", "relu", "relu_")
# These keep only the sign of their argument.
QUOTIENTS = ("div", "div_", "floor_divide", "floor_divide_")
# These map any number into a range that one of their arguments defines.
WRAPS = ("remainder", "remainder_", "fmod", "fmod_", "bitwise_and", "bitwise_and_")
# The results of these are elements of their arguments, possibly in a different type.
CONVERSIONS = ("_to_copy", "copy_", "index_put_", "index_put", "scatter", "scatter_")
BELOW, ABOVE, NOT_A_NUMBER = range(3)


class Bad:
    """An element that is out of bounds, and whether it is too small, too large, or NaN."""

    def __init__(self, value, bound):
        self.value, self.bound = value, bound
        self.side = NOT_A_NUMBER if value != value else BELOW if value < bound.least else ABOVE
        self.made_by = None  # the first result with this value, if nothing changed it afterwards

    def is_in(self, least, greatest):
        """Whether a tensor with these extremes has elements that are bad in the same way; None if unknown. They may
        differ from the traced element."""
        if least is None:
            return None
        if self.side == NOT_A_NUMBER:
            return least != least
        if least != least or self.bound.ignored in (least, greatest):
            return None  # NaN or the ignored value hides the other extremes
        return least < self.bound.least if self.side == BELOW else greatest > self.bound.most

    def is_extreme_of(self, least, greatest):
        return self.value == (least if self.side == BELOW else greatest)


class Unknown(Exception):
    """Raised when tracing must end: nothing further is certain."""


def only(results):
    """The only result, or the latest of several results of one call site."""
    if not results or not all(results[-1].same_call_site(each) for each in results):
        raise Unknown
    return results[-1]


def inputs_with(result, bad):
    """(results that contain bad elements, whether a tensor of unknown origin has bad elements, whether we cannot tell
    for some input)."""
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
    """Whether a bad number was passed to the operator as an argument."""
    return result.facts.structural and any(bad.is_in(each, each) for each in result.given)


def leads_on(result, bad):
    """Whether a bad element of the result may have been bad before the operator."""
    facts = result.facts
    if result.is_index:
        return False
    return facts.structural or bad.side == NOT_A_NUMBER or bad.value in (float("inf"), float("-inf")) or \
        (facts.own and (facts.name in SHIFTS or (bad.side == BELOW and facts.name in QUOTIENTS)))


def carried_unchanged(result, bad):
    """Whether the operator may have kept the element unchanged, as a mask does. Operators that move elements are not
    considered."""
    if not result.facts.pointwise or result.facts.name in WRAPS:
        return False
    ranges = [(least, greatest) for results, least, greatest in result.inputs or () if not results] + \
        [(each.least, each.greatest) for results, _, _ in result.inputs or () for each in results]
    return any(least is not None and bad.is_extreme_of(least, greatest) for least, greatest in ranges)


class Way:
    def __init__(self, bad):
        self.bad = bad
        self.steps = []  # results that contain the element, latest first
        self.role, self.certain = "made", True
        self.is_value_known = True

    def follow(self, result):
        """Returns the earlier result that contains the element, or None if it was produced here or entered here."""
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
            raise Unknown  # the operator computes no new values, so other code wrote to its arguments
        return None

    def make(self, result, had_bad, unknown):
        is_own_kind = result.facts.name in WRAPS or result.is_index or not result.facts.pointwise
        self.certain = self.certain and (is_own_kind or not (had_bad or unknown))


def origin_of(writers, element, bad):
    """([(result, role)], certain): the origin, then the results that passed the element on. Returns ([], False) if
    unknown. `element` is a tensor of that element alone."""
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
