"""Finds the variables that a source line refers to, without running any code of the target: plain names, attributes in
instances' own dictionaries, and constant subscripts of plain containers."""
import _ast
import posix
import sys

from ..tensor_data.tensors import MOST_TEXT, is_tensor

MOST_VARIABLES = 24
KEEPS_AST = 0x400  # PyCF_ONLY_AST


def source_of(file):
    cache = getattr(sys.modules.get("linecache"), "cache", {}).get(file)
    if cache is not None and len(cache) > 2:
        return "".join(cache[2])  # cells of notebooks
    if posix.stat(file).st_mode & 0o170000 != 0o100000:
        raise OSError("not a regular file: reading it might consume the program's input")
    with open(file, "rb") as stream:
        return stream.read(8 << 20)


def without_escapes(source):
    """Removes the escape sequences from the source's strings. Compiling an invalid escape sequence again repeats its
    warning in the program."""
    marks = "\\", "_", "\r\n{}", "N{", "}"
    backslash, blank, ends, named, end = marks if type(source) is str else (each.encode() for each in marks)
    parts = source.split(backslash)
    kept, escaped = parts[:1], False
    for part in parts[1:]:
        if escaped:  # the previous backslash escapes this one
            escaped = False
        elif part[:1] and part[:1] in ends:
            kept.append(backslash if part[:1] in ends[:2] else blank)
        else:
            escaped = not part
            part = part.partition(end)[2] if part[:2] == named else part[1:]
            kept.append(blank)
        kept.append(part)
    return part[:0].join(kept) if parts[1:] else source


def children(node):
    for field in node._fields:
        value = getattr(node, field, None)
        for each in value if type(value) is list else [value]:
            if isinstance(each, _ast.AST):
                yield each


def header(statement):
    """Yields the parts of the statement, except the statements inside it."""
    for each in children(statement):
        if not isinstance(each, (_ast.stmt, getattr(_ast, "ExceptHandler"))):
            yield each


def statement_at(tree, line):
    """Returns the innermost statement that covers the line."""
    found = None
    todo = [tree]
    while todo:
        node = todo.pop()
        for each in children(node):
            covers = getattr(each, "lineno", line) <= line <= (getattr(each, "end_lineno", None) or line)
            if covers and isinstance(each, _ast.stmt):
                found = each if found is None or each.lineno >= found.lineno else found
            if covers or isinstance(each, _ast.expr):
                todo.append(each)
    return found


def path_of(node):
    """Returns ["self", ".emb", ".weight"] for a chain of attributes and constant subscripts; None for anything else."""
    if isinstance(node, _ast.Name):
        return [node.id]
    before = path_of(node.value) if isinstance(node, (_ast.Attribute, _ast.Subscript)) else None
    if before is None:
        return None
    if isinstance(node, _ast.Attribute):
        return before + [("attribute", node.attr)]
    key = node.slice
    key = getattr(key, "value", key) if type(key).__name__ == "Index" else key  # 3.8
    constant = key.value if isinstance(key, _ast.Constant) else None
    return before + [("item", constant)] if type(constant) in (str, int) else None


def paths_at(tree, line):
    """Returns the paths in the statement at the line, outermost first, and whether it is a `with` statement."""
    statement = statement_at(tree, line)
    if statement is None:
        return [], False
    paths, todo = [], list(header(statement))
    while todo:
        node = todo.pop(0)
        path = path_of(node)
        if path is not None and path not in paths:
            paths.append(path)
        if not isinstance(node, _ast.Lambda):
            todo.extend(children(node))
    return paths[:4 * MOST_VARIABLES], isinstance(statement, (_ast.With, _ast.AsyncWith))


def own_names(value):
    """Returns the instance's dictionary, read without running its class's attribute lookup."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return names if type(names) is dict else {}


def attribute_of(value, name):
    names = own_names(value)
    if name in names:
        return names[name]
    for registry in ("_parameters", "_buffers", "_modules"):  # torch.nn.Module
        registered = names.get(registry)
        if isinstance(registered, dict) and dict.__contains__(registered, name):
            return dict.__getitem__(registered, name)
    return None


def item_of(value, key):
    if type(value) not in (dict, list, tuple):
        value = own_names(value).get("data")  # UserDict, and the outputs of tokenizers
    if type(value) is dict:
        return value.get(key)
    in_range = type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value)
    return value[key] if in_range else None


def look_up(path, frame_locals, frame_globals):
    name = path[0]
    value = frame_locals.get(name)
    if value is None:
        value = frame_globals.get(name)
    text = name
    for kind, key in path[1:]:
        if value is None:
            return text, None
        value = attribute_of(value, key) if kind == "attribute" else item_of(value, key)
        text += "." + key if kind == "attribute" else "[%r]" % (key,)
    return text, value


def tensors_of_module(text, value):
    """Yields the parameters and buffers of a module that the line refers to, with their names."""
    names = own_names(value)
    for registry in ("_parameters", "_buffers"):
        registered = names.get(registry)
        if isinstance(registered, dict):
            for name, each in list(dict.items(registered))[:8]:
                if is_tensor(each):
                    yield text + "." + str(name), each


def locals_of(frame):
    """Returns the frame's variables by name. Before 3.13, CPython keeps a copy of them, and thus every tensor in it,
    until the function ends. The copy is emptied here. It stays if other code holds it because the program has called
    locals(), or if the frame is traced, because CPython then sets the variables from it."""
    found, code = frame.f_locals, frame.f_code
    if sys.version_info >= (3, 13) or not code.co_flags & 1 or type(found) is not dict:
        return found
    variables = dict(found)
    if sys.getrefcount(found) == 3 and frame.f_trace is None:
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            found.pop(name, None)  # what exec() has added stays
    return variables


def variables_at(paths, frame):
    """Returns [(name, value)] of the variables that the line refers to, then the same for the tensors of modules among
    them."""
    frame_locals, found, hidden = locals_of(frame), [], []
    for path in paths:
        text, value = look_up(path, frame_locals, frame.f_globals)
        if value is None or len(text) > MOST_TEXT:
            continue
        found.append((text, value))
        hidden.extend(tensors_of_module(text, value))
    return found, hidden
