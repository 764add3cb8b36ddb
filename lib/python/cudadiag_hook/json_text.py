"""Converts values to JSON without the json module, because the target may have a different module with that name."""


def to_json(value):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return repr(value) if value - value == 0 else "null"
    if type(value) is str:
        return '"%s"' % "".join(c if c.isprintable() and c not in '"\\' and ord(c) < 127 else escaped(c) for c in value)
    if type(value) is dict:
        return "{%s}" % ",".join("%s:%s" % (to_json(str(k)), to_json(v)) for k, v in value.items())
    return "[%s]" % ",".join(to_json(each) for each in value)


def escaped(character):
    code = ord(character)
    if code > 0xffff:
        code -= 0x10000
        return "\\u%04x\\u%04x" % (0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff))
    return "\\u%04x" % code
