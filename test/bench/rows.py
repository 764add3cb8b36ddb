"""bench.json: {"machine": …, "rows": [{"case", "what", "median", "min", "max", "unit", "ratio_to_plain"}]}, one row for
each pair of case and what."""

import json
import statistics


def row(case, what, values, unit, plain=None):
    """`plain`: the median that the ratio is to; None: there is none."""
    median = statistics.median(values)
    return {"case": case, "what": what, "median": median, "min": min(values), "max": max(values), "unit": unit,
            "ratio_to_plain": round(median / plain, 4) if plain else None}


def merge(file, rows, machine=None):
    """Puts rows in the place of those that the file has of the same case and what; other rows stay."""
    result = json.loads(file.read_text()) if file.exists() else {"machine": {}, "rows": []}
    new = {(each["case"], each["what"]) for each in rows}
    kept = [each for each in result["rows"] if (each["case"], each["what"]) not in new]
    result = {"machine": machine or result["machine"], "rows": kept + list(rows)}
    file.write_text(json.dumps(result, indent=1) + "\n")
    return result


def line(each):
    ratio = f"x{each['ratio_to_plain']:.3f}" if each["ratio_to_plain"] else "-"
    return (f"{each['case']:<28} {each['what']:<30} {each['median']:>10.2f} {each['unit']:<12} "
            f"[{each['min']:.2f}, {each['max']:.2f}]  {ratio}")
