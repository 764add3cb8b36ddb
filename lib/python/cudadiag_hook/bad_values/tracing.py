"""Traces a bad element back through the operators that passed it on, to the operator that produced it or the place
where it entered.

Steps are reported only if they are certain. Tracing ends at results that were not read, at memory that other code wrote
to, and where several tensors have bad elements.
"""
from ..stacks import line_at

MOST_STEPS = 64  # how many steps to trace back
MOST_TOLD = 5

# These operators add numbers to an element, or subtract numbers from it. The element may have been bad before.
SHIFTS = ("add", "add_", "sub", "sub_")
# The results of these operators are elements of the arguments, possibly clamped or with a different sign.
SELECTIONS = ("unique", "_unique2", "unique_dim", "minimum", "maximum", "amax", "amin", "max", "min", "abs", "relu", "relu_",
              "clamp", "clamp_", "clamp_min", "clamp_max")
# The results of these operators show only the sign of the argument's element.
QUOTIENTS = ("div", "div_", "floor_divide", "floor_divide_")
# These operators map any number into a range that one of their arguments defines.
WRAPS = ("remainder", "remainder_", "fmod", "fmod_", "bitwise_and", "bitwise_and_")
# The results of these operators are elements of their arguments, possibly in a different type.
CONVERSIONS = ("_to_copy", "copy_", "index_put_", "index_put", "scatter", "scatter_")
BELOW, ABOVE, NOT_A_NUMBER = range(3)


class Bad:
    """An element that is out of bounds, and whether it is too small, too large, or NaN."""

    def __init__(self, value, bound):
        self.value, self.bound = value, bound
        self.side = NOT_A_NUMBER if value != value else BELOW if value < bound.least else ABOVE
        self.made_by = None  # the first result with this value, if nothing changed it afterwards

    def is_beyond(self, value):
        """Returns whether the value is bad in the same way as this element."""
        return value < self.bound.least if self.side == BELOW else value > self.bound.most

    def is_in(self, least, greatest):
        """Returns whether a tensor with these extremes has elements that are bad in the same way as this one; None if
        unknown. The traced element need not be among them."""
        if least is None:
            return None
        if self.side == NOT_A_NUMBER:
            return least != least
        if least != least or self.bound.ignored in (least, greatest):
            return None  # NaN or the ignored value hides the other extremes
        return least < self.bound.least if self.side == BELOW else greatest > self.bound.most

    def may_be_in(self, least, greatest):
        """Returns whether a tensor with these extremes may have the traced element."""
        is_hidden = least is None or least != least or greatest != greatest
        return self.is_in(least, greatest) and (is_hidden or least <= self.value <= greatest)

    def is_extreme_of(self, least, greatest):
        return self.value == (least if self.side == BELOW else greatest)


class Unknown(Exception):
    """Raised when tracing must end: nothing further is certain."""


def only(results):
    """Returns the latest result if all come from one call site. Otherwise, raises Unknown."""
    if not results or not all(results[-1].same_call_site(each) for each in results):
        raise Unknown
    return results[-1]


def inputs_with(result, bad, value):
    """Returns (results that contain bad elements, whether a tensor of unknown origin has bad elements, whether we
    cannot tell for some input). `value`: the traced element's value in the result; None if unknown."""
    found, entered, unknown = [], False, result.inputs is None
    for results, least, greatest in result.inputs or ():
        has = may_hold(result, bad, value, least, greatest)
        if not results:
            entered, unknown = entered or has is True, unknown or has is None
        for each in results if has is not False else ():
            has = bad.is_in(each.least, each.greatest)
            if has:
                found.append(each)
            unknown = unknown or has is None
    return found, entered, unknown


def may_hold(result, bad, value, least, greatest):
    """Returns whether an input with these extremes may have the traced element; None if unknown."""
    has = bad.is_in(least, greatest)
    if has and value is not None and result.facts.structural:
        slack = 1 + abs(value) / 64 if result.facts.name in CONVERSIONS else 0  # rounding
        return least - slack <= value <= greatest + slack
    return has


def is_given(result, bad):
    """Returns whether a bad number was passed to the operator as an argument."""
    return result.facts.structural and any(bad.is_in(each, each) for each in result.given)


def leads_on(result, bad):
    """Returns whether a bad element of the result is certainly an element of an argument."""
    facts = result.facts
    return not result.is_index and \
        (facts.structural or bad.side == NOT_A_NUMBER or bad.value in (float("inf"), float("-inf")))


def alters(result, bad):
    """Returns whether a bad element of the result may have been bad before, with a different value."""
    facts = result.facts
    return facts.own and not result.is_index and (
        facts.name in SHIFTS or facts.name in SELECTIONS or (bad.side == BELOW and facts.name in QUOTIENTS))


def value_before(result, bad, value):
    """Returns (number of the argument that had the traced element, its value there) for an operator that alters
    elements. None if no argument had a bad element there. Raises Unknown if we cannot tell."""
    if result.inputs is None or any(least is None for _, least, _ in result.inputs):
        raise Unknown
    name = result.facts.name.rstrip("_")
    ranges = [(least, greatest) for _, least, greatest in result.inputs]
    if not any(bad.is_in(*each) for each in ranges):
        if any(bad.is_in(*each) is None for each in ranges):
            raise Unknown
        return None
    if value is None:
        raise Unknown
    if result.facts.name in QUOTIENTS:
        # With a positive divisor, a negative quotient means a negative dividend. If something was added to the quotient
        # later, the program may have intended negative quotients.
        divisors = [ranges[1][0]] if len(ranges) == 2 else result.given
        if value != bad.value or len(divisors) != 1 or divisors[0] <= 0:
            raise Unknown
        return 0, None
    if result.facts.name in SHIFTS:
        return before_shift(ranges, result.given, 1 if name == "add" else -1, bad, value)
    extreme = ranges[0][bad.side == ABOVE]
    if name.startswith("clamp") and value in result.given and bad.is_beyond(extreme) and extreme != value:
        return None  # the limit replaced the element
    if (name == "abs" and ranges[0][0] <= -value) or (name == "relu" and value == 0):
        raise Unknown
    holders = [number for number, (least, greatest) in enumerate(ranges) if least <= value <= greatest]
    if len(holders) != 1:
        raise Unknown
    return holders[0], value


def before_shift(ranges, given, sign, bad, value):
    """value_before() for x + y (`sign` is 1) and x - y (-1)."""
    if len(ranges) + len(given) != 2:
        raise Unknown  # the call also has a factor (alpha)
    if given:
        before = value - sign * given[0]
        return (0, before) if bad.is_beyond(before) else None
    (least, greatest), (low, high) = ranges
    if low == high == 0:
        return 0, value
    if sign == 1 and least == greatest == 0:
        return 1, value
    # The bounds of x's element, then those of y's element.
    x = sorted((value - sign * low, value - sign * high))
    y = sorted(((value - least) * sign, (value - greatest) * sign))
    for first, last, inner, outer in ((*x, least, greatest), (*y, low, high)):
        if bad.is_beyond(max(first, inner)) or bad.is_beyond(min(last, outer)):
            raise Unknown  # the element may have been bad before, with a different value
    return None


def carried_unchanged(result, bad):
    """Returns whether the operator may have kept the element unchanged, as a multiplication by a mask does. Operators
    that move elements are not considered."""
    if not result.facts.pointwise or result.facts.name in WRAPS:
        return False
    ranges = [(least, greatest) for results, least, greatest in result.inputs or () if not results] + \
        [(each.least, each.greatest) for results, _, _ in result.inputs or () for each in results]
    return any(least is not None and bad.is_extreme_of(least, greatest) for least, greatest in ranges)


def on_same_line(a, b):
    """Returns whether two stacks are at the same line of the same call."""
    return bool(a and b) and a[1:] == b[1:] and a[0][0] is b[0][0] and line_at(*a[0]) == line_at(*b[0])


class Trace:
    def __init__(self, bad):
        self.bad = bad
        self.steps = []  # results that contain the element, latest first
        self.role, self.certain = "made", True
        self.is_value_known = True  # whether the value is known and the same in all steps
        self.value = None if bad.side == NOT_A_NUMBER else bad.value  # in the latest step; None if unknown

    def follow(self, result):
        """Returns the earlier result that contains the element, or None if the element was produced or entered at this
        result."""
        bad, facts = self.bad, result.facts
        self.steps.append(result)
        if facts.enters or facts.lifts:
            self.role = facts.role if facts.enters else "copied"
            return None
        if alters(result, bad) and not leads_on(result, bad):
            return self.follow_altered(result)
        found, entered, unknown = inputs_with(result, bad, self.value)
        given = is_given(result, bad)
        if not leads_on(result, bad) and not carried_unchanged(result, bad):
            return self.make(result, found or entered, unknown)
        if (given and (found or entered)) or (entered and found) or (unknown and not given and not found and not entered):
            raise Unknown
        if found:
            self.certain = self.certain and not unknown and facts.structural
            self.is_value_known = self.is_value_known and facts.structural
            self.value = self.value if facts.structural else None
            return only(found)
        if given:
            self.role, self.certain = "passed", self.certain and not unknown
        elif entered:
            self.role, self.certain = "copied", False
        elif facts.structural and facts.name not in CONVERSIONS:
            raise Unknown  # the operator computes no new values, so other code wrote to its arguments
        return None

    def follow_altered(self, result):
        """Like follow(), but for an operator that may alter the element."""
        try:
            before = value_before(result, self.bad, self.value)
        except Unknown:
            if not self.began_on_line_of(result):
                raise
            self.certain, before = False, None
        if before is None:
            return None
        number, value = before
        self.certain = self.certain and value == self.value
        self.is_value_known = self.is_value_known and value == self.value
        self.value = value
        results = [each for each in result.inputs[number][0] if self.bad.is_in(each.least, each.greatest)]
        if not result.inputs[number][0]:
            self.role, self.certain = "copied", False
            return None
        return only(results)

    def began_on_line_of(self, result):
        """Returns whether all bad elements of the arguments were produced or entered on the line that calls the
        operator. Then that line is the origin, whichever of its operators produced the element."""
        for results, least, greatest in result.inputs or ():
            if self.bad.is_in(least, greatest) is False:
                continue
            trace = Trace(self.bad)
            trace.value = None
            if not trace.walk(only(results)) or not on_same_line(trace.steps[-1].place[0], result.place[0]):
                return False
        return result.inputs is not None

    def walk(self, result):
        """Follows the element from this result to its origin. Returns False if that is unknown."""
        try:
            while result is not None:
                if len(self.steps) == MOST_STEPS:
                    return False
                result = self.follow(result)
        except Unknown:
            return False
        return True

    def make(self, result, had_bad, unknown):
        is_own_kind = result.facts.name in WRAPS or result.is_index or not result.facts.pointwise
        self.certain = self.certain and (is_own_kind or not (had_bad or unknown))


def origin_of(writers, element, bad):
    """Returns ([(result, role)], certain): the origin, then the results that passed the element on. Returns ([], False)
    if unknown. `element` is a tensor that contains only the bad element."""
    trace = Trace(bad)
    # Skips results whose range excludes the bad value: other code has changed the element since.
    results = [each for each in writers.values_in(element) if bad.may_be_in(each.least, each.greatest)]
    try:
        is_known = trace.walk(only(results))
    except Unknown:
        is_known = False
    if not is_known:
        return [], False
    bad.made_by = trace.steps[-1] if trace.is_value_known else None
    told = [(trace.steps[-1], trace.role)]
    told += [(each, "copied" if each.facts.structural else "passed") for each in trace.steps[-2::-1]]
    return told[:MOST_TOLD], trace.certain
