"""The source of tables-3.*.txt: shapes of code that exercise a line table."""


def plain(a, b):
    c = a + b
    return c * 2


def call_over_lines(f):
    return f(
        1,
        [
            2,
            f(
                3,
            ),
        ],
        key=f(4),
    )


def loops(items):
    total = 0
    for item in items:
        while item:
            item -= 1
            if item == 5:
                continue
            total += item
    else:
        total = -total
    return total


def guarded(f):
    try:
        with f() as g:
            return g()
    except (ValueError, KeyError) as error:
        raise RuntimeError(
            "wrapped"
        ) from error
    finally:
        f.close()


def far_jump():
    first = 1






































































































































    second = first + 1
    return (second
            + first)


def wide(a):
    return [
        a + 0, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7, a + 8, a + 9, a + 10, a + 11, a + 12, a + 13, a + 14,
        a + 15, a + 16, a + 17, a + 18, a + 19, a + 20, a + 21, a + 22, a + 23, a + 24, a + 25, a + 26, a + 27, a + 28,
        a * 2 if a else (a
                         - 1),
        {k: v for k, v in a},
        (lambda x:
            x + 1)(a),
    ]


@staticmethod
async def stream(source):
    async for part in source:
        yield await part
    assert source, "nothing left"


class Model:
    size = 3

    def forward(self, x):
        y = self.a(x); z = self.b(y)
        return self.c(
            y, z)
