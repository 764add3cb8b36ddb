"""bench.json: {"machine": …, "rows": [{"case", "what", "median", "min", "max", "unit", "ratio_to_plain"}]}, one row for
each pair of case and what. "rows.py INTO FROM" merges the rows of FROM into INTO, which keeps its machine if it has
one."""

import json
import statistics
import sys
from pathlib import Path


TIMES = "times plain"  # the unit of rows that are ratios


def row(case, what, values, unit, plain=None):
    """`plain`: the values to divide by, paired with `values` by round if there are as many; None: no ratio."""
    ratio = statistics.median(values) if unit == TIMES else None
    if plain and len(plain) == len(values):
        ratio = statistics.median(value / other for value, other in zip(values, plain))
    elif plain:
        ratio = statistics.median(values) / statistics.median(plain)
    return {"case": case, "what": what, "median": statistics.median(values), "min": min(values), "max": max(values),
            "unit": unit, "ratio_to_plain": ratio and round(ratio, 4)}


def merge(file, rows, machine=None):
    """Replaces the file's rows with the same case and what; other rows stay."""
    result = json.loads(file.read_text()) if file.exists() else {"machine": {}, "rows": []}
    new = {(each["case"], each["what"]) for each in rows}
    kept = [each for each in result["rows"] if (each["case"], each["what"]) not in new]
    result = {"machine": machine or result["machine"], "rows": kept + list(rows)}
    file.write_text(json.dumps(result, indent=1) + "\n")
    return result


WAYS = ["plain", "cudadiag run", "empty CUPTI callbacks", "CUDA_LAUNCH_BLOCKING=1"]  # columns of the table


def amount(each):
    for factor, unit in (1e9, "s"), (1e6, "ms"), (1e3, "\\(mcs"), (1, "ns"):
        in_ns = {"ns": 1, "ms": 1e6, "s": 1e9}.get(each["unit"])
        if in_ns and each["median"] * in_ns >= factor:
            return f"{each['median'] * in_ns / factor:.3g} {unit}"
    return f"{each['median']:.4g} {each['unit']}"


def man_table(result):
    """Returns the lines of a manual page: first the cases as a table, then every other row."""
    def cell(each, ratio):
        text = amount(each)
        shown = ratio and each["ratio_to_plain"] and each["unit"] != TIMES
        return f"{text} ({each['ratio_to_plain']:.2f})" if shown else text

    def padded(text, width):
        return text + " " * (width - len(text.replace("\\(mc", "u")))

    gpu = result["machine"].get("gpu")
    yield from [f"On {gpu}:", ""] if gpu else []
    cases = {}
    for each in result["rows"]:
        cases.setdefault(each["case"], {})[each["what"]] = each
    tables = {case: rows for case, rows in cases.items() if "plain" in rows and len(rows.keys() & set(WAYS)) > 2}
    if tables:
        yield " " * 29 + "plain     cudadiag run     empty callbacks  blocking"
    for case, rows in tables.items():
        cells = [cell(rows[way], way != "plain") if way in rows else "" for way in WAYS]
        widths = [10, 17, 17, 0]
        yield (padded(case, 29) + "".join(padded(text, width) for text, width in zip(cells, widths))).rstrip()
    for case, rows in cases.items():
        rest = [each for what, each in rows.items() if case not in tables or what not in WAYS]
        if rest:
            yield from ["", f"{case}:"]
        for each in rest:
            yield "  " + padded(each["what"], 38) + cell(each, True)


def write_man_table(page, result):
    """Writes the table between the page's `begin` and `end`."""
    text = page.read_text()
    head, _, rest = text.partition('.\\" begin\n')
    _, _, tail = rest.partition('.\\" end\n')
    if not tail:
        raise SystemExit(f"{page}: no place for the table: the page needs the comments begin and end")
    table = "".join(text.replace("-", "\\-") + "\n" for text in man_table(result))
    page.write_text(f'{head}.\\" begin\n{table}.\\" end\n{tail}')


def line(each):
    ratio = f"x{each['ratio_to_plain']:.3f}" if each["ratio_to_plain"] else "-"
    return (f"{each['case']:<28} {each['what']:<30} {each['median']:>10.2f} {each['unit']:<12} "
            f"[{each['min']:.2f}, {each['max']:.2f}]  {ratio}")


if __name__ == "__main__":
    into, added = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    known = json.loads(into.read_text())["machine"] if into.exists() else {}
    merge(into, added["rows"], known or added.get("machine"))
