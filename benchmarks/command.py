"""The command line: choose, measure with a progress bar, print the table, write the JSON."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import facts, profiling, report
from benchmarks.crew import Crew
from benchmarks.declare import load_topics, select
from benchmarks.figures import aim_text
from benchmarks.peers import PEERS, set_up
from benchmarks.schedule import FULL, QUICK, measure

DESCRIPTION = "Measure talweg beside NumPy, TensorFlow, JAX and PyTorch, interleaved, in one run."
EPILOG = """further commands:
  python -m benchmarks setup [peers]         make the peers' environments in benchmarks/.envs
  python -m benchmarks profile NAME [PEER]   where the time of one contender goes, by function

An environment you have already is named by TALWEG_BENCH_<PEER>_PYTHON (for example
TALWEG_BENCH_TENSORFLOW_PYTHON=~/tf/bin/python).  A peer without one is left out.
Exit status: 0 measured (aims missed or not), 1 talweg failed somewhere, 2 wrong usage,
130 interrupted (what was measured until then is reported)."""


def parser():
    """The options of a measuring run."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("names", nargs="*", help="topics, benchmarks or members (default: all)")
    made.add_argument(
        "--peers", type=_peers, default=list(PEERS), metavar="A,B", help="default: all"
    )
    made.add_argument("--threads", type=_counts, default=[1], metavar="1,2", help="default: 1")
    made.add_argument("--clock", choices=("wall", "cpu"), default="wall", help=CLOCK_HELP)
    made.add_argument("--quick", action="store_true", help="few short samples: does it run at all")
    made.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the facts")
    made.add_argument("--list", action="store_true", help="list the benchmarks and their aims")
    return made


CLOCK_HELP = "judge by wall time, or by CPU time where other work disturbs one thread"


def _peers(text):
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(PEERS)}")
    return names


def _counts(text):
    try:
        counts = [int(count) for count in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers, like 1,2") from None
    cores = os.cpu_count() or 1
    if not all(1 <= count <= cores for count in counts):
        raise argparse.ArgumentTypeError(f"{text!r}: this machine has {cores} cores")
    return counts


def main(arguments=None):
    """Run the command; the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["setup"]:
        return _setup(arguments[1:])
    if arguments[:1] == ["profile"]:
        return profiling.main(arguments[1:])
    options = parser().parse_args(arguments)
    registry = load_topics()
    try:
        chosen = select(options.names, registry)
    except LookupError as unknown:
        return _complain(f"no benchmark is named {unknown}{_near(str(unknown), registry)}")
    if options.list:
        return _list(chosen)
    if options.json and not options.json.absolute().parent.is_dir():
        return _complain(f"--json {options.json}: its folder does not exist")
    return _run(options, chosen)


def _complain(text):
    print(f"python -m benchmarks: {text}", file=sys.stderr)
    return 2


def _near(name, registry):
    families = {b.family for b in registry.values()} | {n.split(".")[0] for n in registry}
    close = difflib.get_close_matches(name, families, n=3, cutoff=0.5)
    return f"; close: {', '.join(close)}" if close else " (--list shows them)"


def _setup(names):
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        return _complain(f"setup: {', '.join(unknown)}: not one of {', '.join(PEERS)}")
    failed = set_up(names or [name for name, peer in PEERS.items() if peer.requirements])
    return _complain(f"setup failed for {', '.join(failed)}") if failed else 0


def _list(chosen):
    console = Console()
    for benchmark in chosen:
        contenders = ", ".join(contender.label for contender in benchmark.contenders)
        console.print(f"[bold]{_plain(benchmark.name)}[/]  {_plain(benchmark.measures)}")
        aims = "; ".join(aim_text(aim, benchmark.unit) for aim in benchmark.aims)
        console.print(f"    [dim]{contenders}[/]  {aims and 'aim: ' + aims}", highlight=False)
    return 0


def _plain(text):
    return text.replace("[", "\\[")


def _run(options, chosen):
    screen = Console()
    if not screen.is_terminal:
        screen = Console(width=150)
    known = facts.machine()
    rows, versions, absent = [], {}, {}
    interrupted = False
    with _bar() as progress:
        task = progress.add_task("", total=len(chosen) * len(options.threads))
        try:
            for threads in options.threads:
                with Crew(options.peers, threads) as crew:
                    versions, absent = crew.versions, crew.absent
                    for benchmark in chosen:
                        rows.append(_measured(benchmark, crew, options, progress, task))
        except KeyboardInterrupt:
            interrupted = True
    known["load_average_after"] = facts.load()
    _print(screen, rows, options, known, absent)
    if options.json:
        report.write(options.json, report.document(rows, known, versions, absent, options.clock))
    if interrupted:
        return _complain("interrupted: the table holds what was measured until then") and 130
    return int(any(_ours_failed(*pair) for row in rows for pair in row.series.items()))


def _ours_failed(label, series):
    return label.partition(" ")[0] == "talweg" and series.error and not series.unfit


def _bar():
    columns = [BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn()]
    columns.append(TextColumn("{task.description}"))
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _measured(benchmark, crew, options, progress, task):
    def tick(text):
        progress.update(task, description=_plain(f"{benchmark.name}, {crew.threads}: {text}"))

    row = measure(benchmark, crew, QUICK if options.quick else FULL, tick)
    progress.advance(task)
    return row


def _print(screen, rows, options, known, absent):
    used = {contender.peer for row in rows for contender in row.benchmark.contenders}
    shown = [peer for peer in options.peers if peer in used and peer not in absent]
    screen.print(report.table(rows, shown, options.clock))
    for remark in report.remarks(rows, absent):
        screen.print(f"  {_plain(remark)}", highlight=False)
    tally = report.tally(rows, options.clock)
    counts = ", ".join(f"{count} {what}" for what, count in tally.items())
    load = f"load {known['load_average']} before, {known['load_average_after']} after"
    where = f"{known['processor']}, {known['cores']} cores, {load}, {options.clock} time"
    screen.print(f"aims: {counts}.  {where}.", highlight=False)
