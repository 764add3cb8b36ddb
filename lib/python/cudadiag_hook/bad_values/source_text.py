"""Finds out from the program's source how it handles a bad value that has left PyTorch: whether it prints the value,
checks numbers for NaN, or ends because of a check. Runs only for bad values."""
import re

from ..stacks import is_in_library, line_at
from ..suspect_lines.variables import without_escapes
from ..tensor_data.finite_checks import INFINITE, reach

MOST_CHARACTERS = 1 << 20
# Names of functions that check for NaN, or treat NaN as missing data: PyTorch's operators, and others in the program's
# source. The name `nan` itself is a value, and `infinite_batches` or `finite_difference` are about something else.
CHECKS = re.compile(r"(?:^|_|is|has|any)nans?(?:_|$)|^nan(?!o|s?$)|"
                    r"(?<!in)(?<!de)finite(?!_?(?:diff|elem|vol|field|state))|"
                    r"^(?:isna|notna|isnull|notnull|dropna|fillna|skipna|masked_invalid)$", re.IGNORECASE)
VALUE = re.compile(r"^_*nans?$", re.IGNORECASE)
# Functions that do not recognise NaN. They are checks only if infinite elements are bad, too.
INFINITE_CHECKS = re.compile(r"(?:^|_)(?:is|has|any|all)_?(?:pos|neg)?inf(?:s|inite)?(?:_|$)", re.IGNORECASE)
READS = ("item", "tolist", "numpy")  # methods that read numbers from a tensor
PRINTS = ("print", "info", "debug", "warning", "error", "critical", "write", "echo", "add_scalar", "set_postfix")
KEEPS = ("format", "str", "repr", "round", "float", "tuple", "list")  # functions whose result still contains the NaN
IN_EXPRESSION = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<lambda>")
MOST_STEPS = 8  # assignments from a check to the branch that depends on it


def is_check(name):
    """Returns whether a function with this name checks for bad values, or treats them as missing data."""
    if reach.worst == INFINITE and INFINITE_CHECKS.search(name) is not None:
        return True
    return CHECKS.search(name) is not None and VALUE.match(name) is None


def dotted(node):
    """Returns the text of a name or of an attribute of a name; None for other expressions."""
    if hasattr(node, "id"):
        return node.id
    owner = dotted(node.value) if hasattr(node, "attr") else None
    return owner + "." + node.attr if owner else None


def last_name(node):
    return getattr(node, "attr", None) or getattr(node, "id", None) or ""


class Text:
    """A source file."""

    def __init__(self, source):
        import ast
        self.ast = ast
        self.nodes, self.parents = [], {}
        waiting = [ast.parse(without_escapes(source))]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)
        self.checks = any(map(self.is_check, self.nodes))

    def is_check(self, node):
        ast = self.ast
        if isinstance(node, (ast.Name, ast.Attribute)):
            return is_check(last_name(node))
        if isinstance(node, ast.keyword):  # equal_nan=True
            return node.arg is not None and is_check(node.arg)
        if isinstance(node, ast.UnaryOp):  # not x < y: only NaN makes it differ from x >= y
            return isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Compare) and \
                isinstance(node.operand.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and \
            not isinstance(node.left, ast.Constant) and ast.dump(node.left) == ast.dump(node.comparators[0])

    def at(self, line, kinds):
        """Returns the nodes of these kinds that contain the line, outermost first."""
        found = [node for node in self.nodes if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno]
        return sorted(found, key=lambda node: (node.lineno, -node.end_lineno, node.col_offset, -node.end_col_offset))

    def above(self, node):
        """Yields the node's ancestors up to the function that contains it, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (self.ast.FunctionDef, self.ast.AsyncFunctionDef, self.ast.ClassDef)):
                return
            yield node

    def reads_a_number(self, call):
        name = last_name(call.func)
        return (name in READS and isinstance(call.func, self.ast.Attribute)) or \
            (name in ("float", "int") and isinstance(call.func, self.ast.Name))

    def prints(self, line):
        """Returns whether every number that is read in this line is only printed or formatted."""
        reads = [call for call in self.at(line, self.ast.Call) if self.reads_a_number(call)]
        reads = [call for call in reads if not any(other is not call and call in self.above(other) for other in reads)]
        return bool(reads) and all(self.is_printed(call) for call in reads)

    def is_printed(self, read):
        ast = self.ast
        for node in self.above(read):
            if isinstance(node, ast.JoinedStr):
                return True
            if isinstance(node, ast.Call):
                name = last_name(node.func)
                if name in PRINTS:
                    return True
                if name not in KEEPS:
                    return False
            elif not isinstance(node, (ast.FormattedValue, ast.BinOp, ast.Tuple, ast.List, ast.Starred, ast.keyword)) and \
                    not (isinstance(node, ast.Attribute) and node.attr == "format"):
                return False
        return False

    def function_at(self, line, name):
        found = [node for node in self.at(line, (self.ast.FunctionDef, self.ast.AsyncFunctionDef)) if node.name == name]
        return found[-1] if found else None

    def own_nodes(self, function):
        """Yields the nodes of a function, or of the module, without those of inner functions."""
        ast = self.ast
        waiting = list(ast.iter_child_nodes(function if function is not None else self.nodes[0]))
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            yield node
            waiting.extend(ast.iter_child_nodes(node))

    def flow(self, line, name):
        return Flow(self, line, self.function_at(line, name))


class Flow:
    """The expressions of a function that depend on what is computed in a line."""

    def __init__(self, text, line, function):
        ast = text.ast
        self.text, self.line, self.names = text, line, set()
        self.nodes = list(text.own_nodes(function))
        for _ in range(MOST_STEPS):
            known = len(self.names)
            for node in self.nodes:
                if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and self.reaches(node.value):
                    for target in getattr(node, "targets", None) or [node.target]:
                        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                        self.names.update(filter(None, map(dotted, parts)))
            if len(self.names) == known:
                break

    def reaches(self, expression):
        ast = self.text.ast
        for node in ast.walk(expression) if expression is not None else ():
            if isinstance(node, (ast.Call, ast.Compare)) and node.lineno <= self.line <= node.end_lineno:
                return True
            if isinstance(node, (ast.Name, ast.Attribute)) and dotted(node) in self.names:
                return True
        return False

    def branches_around(self, statement):
        return [node.test for node in self.text.above(statement)
                if isinstance(node, self.text.ast.If) and self.reaches(node.test)]

    def is_returned(self):
        return any(self.reaches(node.value) or self.branches_around(node)
                   for node in self.nodes if isinstance(node, self.text.ast.Return))

    def tests_of(self, line, exits):
        """Returns the conditions that depend on the value, and decide whether the line raises an exception or exits."""
        ast = self.text.ast
        statements = self.text.at(line, ast.stmt)
        statement = statements[-1] if statements else None
        if isinstance(statement, ast.Assert):
            return [statement.test] if self.reaches(statement.test) else []
        if exits and isinstance(statement, ast.Expr) and self.reaches(statement.value):
            return [statement.value]
        return self.branches_around(statement) if exits or isinstance(statement, ast.Raise) else []


texts = {}  # by file


def text_of(file):
    """Returns the parsed source file; None if the file has no source that can be parsed."""
    if file not in texts:
        import linecache
        try:
            source = "".join(linecache.getlines(file))
            texts[file] = Text(source) if 0 < len(source) <= MOST_CHARACTERS else None
        except (SyntaxError, ValueError, RecursionError):
            texts[file] = None
    return texts[file]


def files_of_program(places):
    return {code.co_filename for code, _ in places if not is_in_library(code)}


def checks_somewhere(places):
    """Returns whether any of the program's files in this stack checks for NaN anywhere."""
    return any(text is not None and text.checks for text in map(text_of, files_of_program(places)))


checking = {}  # by id() of the code: (code, whether it checks for NaN)


def has_check(code, instruction):
    if id(code) not in checking:
        text, found = text_of(code.co_filename), any(map(is_check, code.co_names))
        if text is not None and not found:
            function = text.function_at(line_at(code, instruction), code.co_name)
            found = any(map(text.is_check, text.own_nodes(function)))
        checking[id(code)] = (code, found)
    return checking[id(code)][1]


def checks_nearby(places):
    """Returns whether one of the two innermost functions of the program checks for NaN."""
    users = [place for place in places if not is_in_library(place[0]) and place[0].co_name not in IN_EXPRESSION]
    return any(has_check(*place) for place in users[:2])


def prints_number(places):
    """Returns whether the number that is read at the innermost place is only printed or formatted."""
    for code, instruction in places:
        if code.co_name == "__format__":
            return True
        if not is_in_library(code):
            text = text_of(code.co_filename)
            return text is not None and text.prints(line_at(code, instruction))
    return False


def dependence(check, end, exits):
    """Finds out whether the program's end depends on a check. `check`: the stack of the check; `end`: (code, line) of
    the frames in which the program ended, innermost first. Returns "asked" if a condition in between checks for NaN,
    and "compared" if there are only other conditions. Returns "" if the end does not depend on the check."""
    codes = [code for code, _ in check]
    code, line = next(((code, line) for code, line in end if code in codes), (None, 0))
    if code is None or (exits and is_in_library(code)):
        return ""
    for number, (each, instruction) in enumerate(check):
        if number < codes.index(code) and each.co_name in IN_EXPRESSION:
            continue
        text = text_of(each.co_filename)
        if text is None:
            return ""
        flow = text.flow(line_at(each, instruction), each.co_name)
        if each is code:
            tests = flow.tests_of(line, exits)
            asks = any(text.is_check(node) for test in tests for node in text.ast.walk(test))
            return "" if not tests else "asked" if asks else "compared"
        if not flow.is_returned():
            return ""
    return ""
