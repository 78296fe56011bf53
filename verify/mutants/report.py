"""Tables of a campaign: who was killed, by area; by what; and how long it took."""

import statistics


def share(part, whole):
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "-"


def print_table(rows):
    """Of markdown, for docs/mutation.md."""
    print()
    for i, row in enumerate(rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
        if i == 0:
            print("|" + "---|" * len(row))


def row_of(area, mutants, equivalent):
    real = [m for m in mutants if m["name"] not in equivalent]
    killed = [m for m in real if m["ours"].kind == "killed"]
    cells = [area, len(mutants), len(mutants) - len(real), share(len(killed), len(real))]
    for kind in ("passed", "crashed", "clock"):
        cells.append(sum(m["ours"].kind == kind for m in real))
    for i in range(2):
        others = [m for m in real if i < len(m["imitations"])]
        cells.append(share(sum(m["imitations"][i].kind == "killed" for m in others), len(others)))
    return cells


def print_areas(tried, equivalent):
    areas = sorted({m["area"] for m in tried})
    rows = [
        ["area", "mutants", "equivalent", "killed by ours", "survived", "crashed", "by the clock"]
        + ["fixed tolerance", "factor two"]
    ]
    for area in areas:
        rows.append(row_of(area, [m for m in tried if m["area"] == area], equivalent))
    rows.append(row_of("all", tried, equivalent))
    print_table(rows)


def print_operators(tried, equivalent):
    rows = [["operator", "mutants", "equivalent", "killed by ours", "survived", "crashed"]]
    rows[0] += ["by the clock", "fixed tolerance", "factor two"]
    for operator in sorted({m["operator"] for m in tried}):
        rows.append(row_of(operator, [m for m in tried if m["operator"] == operator], equivalent))
    print_table(rows)


def killer_of(outcome):
    """The executor's checks tell the kernel they found something in."""
    return "checks of the executor" if "in kernel '" in outcome.said else outcome.by


def print_killers(tried):
    counts = {}
    for mutant in tried:
        if mutant["ours"].kind == "killed":
            seconds = counts.setdefault(killer_of(mutant["ours"]), [])
            seconds.append(mutant["seconds"])
    rows = [["killed by", "mutants", "seconds to kill, median", "most"]]
    for killer, seconds in sorted(counts.items(), key=lambda item: -len(item[1])):
        rows.append(
            [killer, len(seconds), f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]
        )
    print_table(rows)


def print_equivalent(tried, equivalent):
    rows = [["equivalent", "what", "why"]]
    for mutant in tried:
        if mutant["name"] in equivalent:
            rows.append([mutant["name"], mutant["text"], equivalent[mutant["name"]]])
    print_table(rows)


def print_tables(tried, equivalent):
    print_areas(tried, equivalent)
    print_operators(tried, equivalent)
    print_killers(tried)
    print_equivalent(tried, equivalent)
