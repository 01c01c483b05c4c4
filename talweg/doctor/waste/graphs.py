"""Findings about graphs and traces: nodes that are built again, are too large, or never run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from talweg.doctor.findings import Finding, Place, megabytes
from talweg.doctor.waste.eager import PURE, report_unused
from talweg.doctor.waste.graph_sites import GraphRecord, GraphSpot, GraphWatch, SeenSession
from talweg.doctor.waste.observation import Observation, SeenFunction
from talweg.doctor.waste.sites import by_line, is_dropped, places_of
from talweg.doctor.waste.variables import find_made_again

if TYPE_CHECKING:
    from talweg.trace.function import Function

EPOCHS = 3  # runs between which the same line built something
ASKED = 100  # times one line asked for what was there, without runs between
LARGE = 1 << 20  # bytes of arrays that became constants
ABANDONED = 20  # nodes of one line that nothing ran
UNROLLED = 300  # executions of one line for one graph
TRACES = 4  # of one function
RECOMPILED = 8  # times that one trace was compiled
FUNCTIONS = 5  # made at one line
SESSIONS = 5  # opened by one loop, of one graph
MANY_GRAPHS = 20  # sessions, each of a graph of its own
WHERE = re.compile(r"(.+):(\d+), in ([^:]+)")  # a place, as notes of passes give it


def graph_findings(seen: Observation) -> Iterator[Finding]:
    """Report the waste of a program's graphs and traces."""
    watch = seen.graphs
    again = {group[0].spot.code for _, group in find_made_again(seen.all_variables())}
    for record in watch.all_records():
        yield from _of_graph(record, again)
    yield from large_arrays([*watch.all_records(), watch.traces])
    yield from _find_unrolled(watch.traces, "a trace")
    yield from _find_unused_in_graphs(watch)
    yield from _find_retraced(seen)
    yield from _functions_in_loop(seen)
    yield from _find_shared(watch)
    yield from _sessions(watch)


def _of_graph(record: GraphRecord, variables: set) -> Iterator[Finding]:
    """Yield the findings about a graph: each line stands in the one that says most about it.

    `variables` are the codes that make variables again and again, which has a finding of its own.
    """
    spots = sorted(record.spots.values(), key=lambda spot: -spot.calls)
    in_arguments, covered = _in_arguments(spots)
    yield from in_arguments
    rest = [spot for spot in spots if spot not in covered and not spot.in_arguments]
    rest = [spot for spot in rest if spot.code not in variables]
    growing = [spot for spot in rest if spot.new_epochs >= EPOCHS]
    if growing:
        yield _in_loop(growing)
    rest = [spot for spot in rest if spot.new_epochs < EPOCHS]
    again = [spot for spot in rest if _is_asked_again(spot)]
    if again:
        yield _find_repeated_requests(again)
    yield from _find_unrolled(record, "the graph")
    for spot in rest:
        built = spot.nodes - spot.effects
        alone = spot.building < UNROLLED or spot.used < spot.nodes // 10
        if built >= ABANDONED and spot.building >= ABANDONED and alone and spot.used <= built // 10:
            yield _find_abandoned(spot, record)


def _in_arguments(spots: list[GraphSpot]) -> tuple[list[Finding], set[GraphSpot]]:
    """TW602: operations made in the arguments of session.run, more than once; and their spots."""
    texts: dict[str, list[list[GraphSpot]]] = {}
    for line in by_line([spot for spot in spots if spot.in_arguments]):
        texts.setdefault(line[0].text or str(id(line[0])), []).append(line)
    repeated, covered = [], set()
    for text, lines in texts.items():
        count = sum(line[0].in_arguments for line in lines)
        if count < 2:
            continue
        covered |= {spot for line in lines for spot in line}
        built = sum(spot.nodes for line in lines for spot in line)
        repeated.append(
            Finding(
                "TW602",
                f"`{text if lines[0][0].text else 'an operation'}` was made in the arguments of "
                f"session.run, {count:,} times",
                "The arguments of session.run are evaluated before each run: they ask the graph "
                "for their operations anew.",
                places_of([line[0] for line in lines]),
                count,
                f"{built:,} operations built, {count:,} plans made of them. TensorFlow keeps them "
                "all for ever; talweg lets them go, but the time is lost, and nothing is compiled.",
                "Make the operation once, before the loop, and run that: init = "
                "tf.global_variables_initializer(); session.run(init). What changes is fed to a "
                "placeholder.",
            )
        )
    return repeated, covered


def _in_loop(spots: list[GraphSpot]) -> Finding:
    """TW601: lines that go on building between runs."""
    lines = by_line(spots)
    lines.sort(key=lambda line: -sum(spot.nodes for spot in line))
    first, built = lines[0][0], sum(spot.nodes for spot in spots)
    more = more_lines(len(lines) - 1)
    return Finding(
        "TW601",
        f"`{first.text or 'a line'}`{more} built {built:,} operations, between {first.new_epochs:,}"
        " runs of a session",
        "What stands in a loop that also runs the graph makes other operations each time.",
        places_of([line[0] for line in lines]),
        built,
        f"{first.building:,} times the time to build it, and a new plan for each run. In "
        "TensorFlow the graph would grow for ever.",
        "Build before the loop, run in the loop. What changes from step to step goes through a "
        "placeholder and feed_dict, or is kept in a variable.",
    )


def more_lines(count: int) -> str:
    """Return further lines that a finding is about, in words."""
    return "" if not count else f" and {count:,} more line{'s' * (count > 1)}"


def _is_asked_again(spot: GraphSpot) -> bool:
    again = spot.calls - spot.building
    return spot.epochs - spot.new_epochs >= EPOCHS or again >= ASKED


def _find_repeated_requests(spots: list[GraphSpot]) -> Finding:
    """Report TW603: lines that ask for nodes that the graph has already."""
    lines = by_line(spots)
    lines.sort(key=lambda line: -max(spot.calls for spot in line))
    count = max(spot.calls - spot.building for spot in lines[0])
    more = more_lines(len(lines) - 1)
    return Finding(
        "TW603",
        f"`{lines[0][0].text or 'an operation'}`{more} asked {count:,} times for what was there",
        "What stands in a loop asks for equal operations on equal operands each time; talweg gives "
        "the ones that are there.",
        places_of([line[0] for line in lines]),
        count,
        f"{count:,} times the time to build it. TensorFlow would have added it to the graph each "
        "time.",
        "Make the operations once, before the loop, and use the tensors.",
    )


def large_arrays(records: list[GraphRecord]) -> Iterator[Finding]:
    """TW604: arrays that became constants of a graph."""
    for record in records:
        for spot in record.spots.values():
            size = sum(spot.arrays.values())
            if size >= LARGE:
                yield large_array([spot], len(spot.arrays), size)


def large_array(spots: list, count: int, size: int) -> Finding:
    """Return the finding about arrays in a graph."""
    many = "an array" if count == 1 else f"{count:,} arrays"
    return Finding(
        "TW604",
        f"{many} of {megabytes(size)} became part of a graph",
        "A NumPy array met an operation of a graph, and is a constant there now.",
        places_of(spots),
        count,
        f"{megabytes(size)} copied and kept as long as the graph; TensorFlow would write them into "
        "every copy of it.",
        "Give data to the graph when it runs: a placeholder and feed_dict, an argument of the "
        "tf.function, or a tf.Variable(..., trainable=False) for what stays.",
    )


def _find_abandoned(spot: GraphSpot, record: GraphRecord) -> Finding:
    """TW605: operations that no run ever used."""
    text = spot.text or "a line"
    ran = "nothing was run" if not record.runs else "no run used them"
    return Finding(
        "TW605",
        f"`{text}` built {spot.nodes:,} operations, and {ran}",
        "Building computes nothing: a name that is given a new tensor lets go of the one before, "
        "which was never run.",
        (spot.place,),
        spot.nodes,
        "The time to build them. TensorFlow would keep them in the graph for ever; talweg frees "
        "those that nothing refers to.",
        "Build only what is run. To change a value step by step, make one operation "
        "(tf.assign_add) and run that again and again.",
    )


def _find_unrolled(record: GraphRecord, where: str) -> Iterator[Finding]:
    """TW620: a Python loop that was written out into one graph."""
    for spot in record.spots.values():
        trace = record.table is None
        times = spot.most if trace else spot.building
        ran = trace or (spot.new_epochs < EPOCHS and spot.used * 10 >= spot.nodes)
        if times >= UNROLLED and ran and spot.nodes >= UNROLLED and not spot.in_arguments:
            yield Finding(
                "TW620",
                f"a Python loop was written out: `{spot.text or 'a line'}` stands {times:,} times "
                f"in {where}",
                "A loop over Python numbers (range, a list) runs while the graph is built, and "
                "leaves every round in it.",
                (spot.place,),
                times,
                f"{spot.nodes:,} operations to build, plan and compile, where a loop of the graph "
                "has a few.",
                "Loop over tensors: `for i in tf.range(n)` in a tf.function, tf.while_loop, "
                "tf.scan, tf.map_fn; or one operation on the whole.",
            )


def _find_unused_in_graphs(watch: GraphWatch) -> Iterator[Finding]:
    """TW616 in graphs: results that nobody takes."""
    for record in (*watch.all_records(), watch.traces):
        for spot in record.spots.values():
            if spot.effects or not spot.nodes or not spot.module.startswith(PURE):
                continue
            named = "name=" in spot.place.source  # so that it can be fetched by its name
            if named or spot.used or spot.calls >= ABANDONED:
                continue
            if is_dropped(spot.code, spot.offset):
                yield report_unused(spot, spot.calls)


def _find_retraced(seen: Observation) -> Iterator[Finding]:
    """TW606: functions that are traced, or compiled, again and again."""
    for function in seen.functions:
        again = [(reason, spot) for reason, spot, _ in function.traces if reason is not None]
        if len(again) + 1 >= TRACES:
            yield retracing_finding(function, again)
        traced = function.ref()
        if traced is not None:
            yield from find_recompiled(traced, places_of([function.spot] if function.spot else []))


def retracing_finding(function: SeenFunction, again: list) -> Finding:
    """Return the finding about a function that is traced again and again."""
    kinds: dict[str, list[str]] = {}
    for reason, _ in again:
        kinds.setdefault(reason.split(":")[0], []).append(reason)
    lines = []
    for reasons in kinds.values():
        more = len(reasons) - 2
        lines.append(
            "; ".join(reasons[:2]) + (f"; and {more:,} more like that" if more > 0 else "")
        )
    spots = [spot for _, spot in again if spot is not None]
    own = [function.spot] if function.spot is not None else []
    return Finding(
        "TW606",
        f"`{function.name}` was traced {len(again) + 1:,} times",
        "Each new kind of arguments is a new trace: " + "\n".join(lines) + ".",
        places_of([*spots, *own]),
        len(again) + 1,
        "Each trace runs the Python function again, makes a new graph, and compiles it.",
        cure_of(" ".join(kinds_text for reasons in kinds.values() for kinds_text in reasons)),
    )


def find_recompiled(function: Function, where: tuple) -> Iterator[Finding]:
    """TW606: traces that are compiled again and again, for other sizes."""
    for concrete in list(function._traces.values()):
        program = concrete._program
        tier = None if program is None else program.tier
        made = 0 if tier is None else sum([x.made for x in {tier, tier.xla} if x is not None])
        if made >= RECOMPILED:
            yield Finding(
                "TW606",
                f"a trace of `{function.name}` was compiled {made:,} times",
                "The trace leaves sizes of its arguments open, and each combination of sizes is "
                "compiled by itself.",
                where,
                made,
                "XLA takes seconds for a large program each time; the CPU compiler takes less.",
                "Pad batches to one size, or to a few: drop_remainder=True, padded_batch with "
                "padded_shapes, tf.data.Dataset.bucket_by_sequence_length.",
            )


def cure_of(reasons: str) -> str:
    """Return the cure of retraces, by their reasons."""
    if "shape" in reasons or "size" in reasons or "rank" in reasons:
        return (
            "Leave the sizes that differ open: @tf.function(reduce_retracing=True), or "
            "input_signature=[tf.TensorSpec([None, ...], dtype)]."
        )
    if "dtype" in reasons:
        return "Cast the arguments to one dtype before the call."
    return (
        "Pass what changes as a tensor, tf.constant(value): a Python number, string or list is "
        "a part of the trace."
    )


def _functions_in_loop(seen: Observation) -> Iterator[Finding]:
    """TW607: tf.function applied anew, so that every call is a first one."""
    groups: dict[tuple, list[SeenFunction]] = {}
    for function in seen.functions:
        if function.spot is not None and function.traces:
            groups.setdefault((id(function.spot.code), function.spot.offset), []).append(function)
    for group in groups.values():
        alike = {id(function.code) for function in group if function.code is not None}
        if len(group) >= FUNCTIONS and len(alike) == 1:
            traces = sum(len(function.traces) for function in group)
            yield Finding(
                "TW607",
                f"`{group[0].name}` was made a tf.function {len(group):,} times, and traced "
                f"{traces:,} times",
                "tf.function is applied inside a loop, or in a function that is called in one; "
                "each one that it makes starts without traces.",
                places_of([function.spot for function in group]),
                len(group),
                f"{traces:,} traces of the same Python function, where one serves.",
                "Apply tf.function once: as a decorator at the top of the module, or in __init__, "
                "and call the same object.",
            )


def _find_shared(watch: GraphWatch) -> Iterator[Finding]:
    """TW608: products that run otherwise than they were written."""
    for note, count in watch.notes.items():
        if " runs as " in note:
            yield report_shared_work(note, count)


def report_shared_work(note: str, count: int = 1) -> Finding:
    """Return the finding about redundant work that was found and shared."""
    what, _, where = note.partition(": ")
    match = WHERE.match(where)
    return Finding(
        "TW608",
        f"redundant work was found: {what}",
        "Both products have an operand in common, so one product of a sum does.",
        () if match is None else (Place(match[1], int(match[2]), match[3]),),
        count,
        "As it is written it takes a product more; talweg takes it out, TensorFlow computes both.",
        "Nothing has to be done here; write it that way where the program must be fast elsewhere.",
    )


def _sessions(watch: GraphWatch) -> Iterator[Finding]:
    """TW621: a session for every run."""
    groups: dict[Place, list[SeenSession]] = {}
    for session in watch.sessions:
        if session.spot is not None and session.runs:
            groups.setdefault(session.spot.place, []).append(session)
    for group in groups.values():
        runs = sum(session.runs for session in group)
        graphs = len({id(session.table) for session in group})
        least = SESSIONS * graphs if graphs < SESSIONS else MANY_GRAPHS
        if len(group) >= least and runs <= 3 * len(group):
            what = f"sessions of {graphs:,} graphs" if graphs > 1 else "sessions"
            yield Finding(
                "TW621",
                f"{len(group):,} {what} were opened for {runs:,} runs",
                "A session is opened inside a loop, or in a function that is called in one.",
                places_of([group[0].spot]),
                len(group),
                "Each session begins without plans, compiled code and values: everything is made "
                "anew, and variables must be initialized or restored again.",
                "Open one session before the loop and pass it to where it is needed.",
            )
