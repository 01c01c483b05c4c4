"""What was measured, as a table for a reader and as JSON for a program."""

from __future__ import annotations

import json

from rich.table import Table
from rich.text import Text

from benchmarks.figures import best_peer, disagreements, judge, paired_ratio, shown, three

FORMAT = 1
NOISY = 0.1


def table(rows, peers, clock="wall"):
    """One line a benchmark: median over minimum of each contender, ratios, aims and verdicts."""
    made = Table(pad_edge=False, padding=(0, 1), show_lines=True)
    made.add_column("benchmark\nthreads", no_wrap=True)
    for peer in peers:
        made.add_column(f"{peer}\nmedian / min", justify="right")
    made.add_column("÷ NumPy\n÷ best", justify="right")
    made.add_column("aim", no_wrap=True)
    made.add_column("", justify="left", no_wrap=True)
    for row in rows:
        title = Text(row.benchmark.name)
        title.append(f"\n{row.threads}", style="dim")
        cells = [_cell(row, peer, clock) for peer in peers]
        made.add_row(title, *cells, _ratios(row, clock), *_verdicts(row, rows, clock))
    return made


def _cell(row, peer, clock):
    cell = Text()
    for label, series in row.series.items():
        name, _, variant = label.partition(" ")
        if name != peer:
            continue
        if cell:
            cell.append("\n")
        if variant:
            cell.append(f"{variant}:\n", style="dim")
        cell.append_text(_figure(series, row.benchmark.unit, clock))
    return cell


def _figure(series, unit, clock):
    if not series.samples:
        return Text("left out", "dim") if series.unfit else Text("fails", "red")
    text = Text(shown(series.median(clock), unit))
    text.append(f"\n{shown(series.minimum(clock), unit)}", style="dim")
    if series.spread(clock) > NOISY:
        text.append(f" ±{series.spread(clock):.0%}", style="yellow")
    return text


def _ratios(row, clock):
    ours = row.measured().get(row.benchmark.subject)
    lines = []
    for label in ("numpy", best_peer(row, clock)):
        theirs = row.measured().get(label)
        comparable = ours and theirs and row.benchmark.timed
        lines.append(f"{three(paired_ratio(ours, theirs, clock))}" if comparable else "")
    return "\n".join(lines)


def _verdicts(row, rows, clock):
    aims, marks = [], Text()
    for verdict in (judge(aim, row, rows, clock) for aim in row.benchmark.aims):
        aims.append(verdict.aim)
        if marks:
            marks.append("\n")
        marks.append_text(_mark(verdict))
    return "\n".join(aims), marks


def _mark(verdict):
    if verdict.met is None:
        return Text(f"– {verdict.note}", "dim")
    value = shown(verdict.value, verdict.unit) if verdict.unit else f"× {three(verdict.value)}"
    return Text(f"✓ {value}", "green") if verdict.met else Text(f"✗ {value}", "bold red")


def remarks(rows, absent):
    """Sentences under the table: who is missing, who failed, who computed something else."""
    for name, reason in absent.items():
        yield f"{name} is left out: {reason}"
    for row in rows:
        for label, series in row.series.items():
            if series.error:
                what = "left out" if series.unfit else "failed"
                yield f"{row.benchmark.name}: {label} {what}: {series.error}"
        for label in disagreements(row):
            yield f"{row.benchmark.name}: {label} computes something else: its result differs"


def tally(rows, clock="wall"):
    """Counts of aims met, missed and not judged."""
    verdicts = [judge(aim, row, rows, clock) for row in rows for aim in row.benchmark.aims]
    met = sum(v.met is True for v in verdicts)
    missed = sum(v.met is False for v in verdicts)
    return {"met": met, "missed": missed, "not judged": len(verdicts) - met - missed}


def document(rows, facts, versions, absent, clock="wall"):
    """The whole run as plain data."""
    return {
        "format": FORMAT,
        "facts": facts,
        "versions": versions,
        "absent": absent,
        "clock": clock,
        "tally": tally(rows, clock),
        "results": [_result(row, rows, clock) for row in rows],
    }


def _result(row, rows, clock):
    benchmark = row.benchmark
    return {
        "benchmark": benchmark.name,
        "measures": benchmark.measures,
        "threads": row.threads,
        "unit": benchmark.unit,
        "contenders": {label: _summary(s, row, clock) for label, s in row.series.items()},
        "aims": [_aim(judge(aim, row, rows, clock)) for aim in benchmark.aims],
        "disagree": disagreements(row),
    }


def _summary(series, row, clock):
    if not series.samples:
        return {"error": series.error, "unfit": series.unfit}
    ours = row.measured().get(row.benchmark.subject)
    return {
        "median": series.median(clock),
        "minimum": series.minimum(clock),
        "spread": series.spread(clock),
        "ours_over_this": paired_ratio(ours, series, clock) if ours else None,
        "ours_over_this_at_best": _ratio_at_best(ours, series, clock),
        "first_call": series.first_call,
        "iterations": series.iterations,
        "samples": series.samples,
        "error": series.error,
    }


def _ratio_at_best(ours, series, clock):
    """The ratio of the minima: what is left when nothing disturbs."""
    least = series.minimum(clock)
    return ours.minimum(clock) / least if ours and least > 0 else None


def _aim(verdict):
    return {
        "aim": verdict.aim,
        "value": verdict.value,
        "limit": verdict.limit,
        "met": verdict.met,
        "note": verdict.note,
    }


def write(path, content):
    """Write the document as JSON, whole or not at all."""
    beside = path.with_name(path.name + ".part")
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
