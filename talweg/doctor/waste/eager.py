"""Findings about eager operations: work and memory that a program spends for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talweg.core.roles import Trait
from talweg.doctor.findings import Finding, megabytes
from talweg.doctor.waste.observation import ALIVE, EagerSpot, HostTransfer, Observation
from talweg.doctor.waste.sites import flows_into, is_dropped, places_of

if TYPE_CHECKING:
    from talweg.doctor.waste.graph_sites import GraphSpot

AGAIN = 10  # looks at which the same was computed of the same
HEAVY = 1 << 14  # bytes read and written from which computing the same again counts
TRIPS = 10  # round trips
KEPT_RESULTS = 200  # results of one line that are all kept
KEPT_BYTES = 1 << 20
ELEMENTS = 500  # elements taken one by one
SMALL_STEPS, SMALL_OPERATIONS = 500, 20_000
SHARE = 0.04  # of the processor's time from which calls from Python matter
SMALL = 1 << 16  # bytes of a small result
DOUBLES = 10  # operations in float64
HOST = frozenset(("host_call", "taped_call"))  # Python called from a graph
# Modules whose functions give a result and do nothing else.
PURE = (
    "execute/compositions.py",  # what is marked `as_one`
    "api/math/",
    "api/nn/",
    "api/linalg/",
    "api/array/",
    "api/image/",
    "api/signal/",
    "api/tensors.py",
    "eager/tensor.py",
    "eager/operators.py",
    "eager/graph_operators.py",
    "graph/symbol.py",
)


def eager_findings(seen: Observation) -> Iterator[Finding]:
    """Report the waste of a program's eager operations."""
    spots = sorted(seen.eager.values(), key=lambda spot: -spot.count)
    calls: dict[tuple, list[EagerSpot]] = {}
    for spot in spots:
        calls.setdefault((id(spot.code), spot.offset), []).append(spot)
    yield from _same_again(spots)
    yield from _doubles(seen, spots)
    yield from _round_trips(seen)
    yield from _find_unused(calls.values())
    yield from _find_kept(seen, spots)
    elements = list(_element_by_element(calls.values()))
    yield from elements
    if not elements:
        yield from _many_small(seen, spots)


def _same_again(spots: list[EagerSpot]) -> Iterator[Finding]:
    """TW609: the same operation on the same tensors, again and again."""
    done: set = set()
    for spot in spots:
        line = spot.place
        heavy = spot.work >= HEAVY * spot.sampled
        if heavy and spot.same >= AGAIN and not spot.changed and spot.prim.memory != "view":
            if line in done or is_dropped(spot.code, spot.offset):
                continue
            done.add(line)
            yield Finding(
                "TW609",
                f"`{spot.text or spot.prim.name}` was computed {spot.count:,} times of the same "
                "tensors",
                "Nothing it depends on changes between one time and the next.",
                (line,),
                spot.count,
                f"{spot.count - 1:,} times the work, and {_each(spot)} of result each time.",
                "Compute it once, before the loop, and use the result.",
            )


def _each(spot: EagerSpot) -> str:
    return megabytes(spot.bytes / max(spot.sampled, 1))


def _doubles(seen: Observation, spots: list[EagerSpot]) -> Iterator[Finding]:
    """TW614: float64 arrays in a program that computes in float32."""
    floats = {v.dtype.name for v in seen.all_variables() if v.dtype.is_floating and v.trainable}
    if floats != {"float32"}:
        return
    doors = [door for door in seen.entries.values() if door.doubles and not door.asked]
    work = [spot for spot in spots if spot.doubles and Trait.NO_ARITHMETIC not in spot.prim.traits]
    nodes = sum(spot.doubles for spot in seen.graphs.traces.spots.values())
    for record in seen.graphs.all_records():
        nodes += sum(spot.doubles for spot in record.spots.values())
    count = sum(spot.count for spot in work)
    if not doors or max(count, nodes * min(seen.steps, DOUBLES)) < DOUBLES:
        return
    doors.sort(key=lambda door: -door.bytes)
    size = sum(door.bytes for door in doors)
    done = f"{count:,} operations ran" if count else f"{nodes:,} operations of graphs are"
    yield Finding(
        "TW614",
        f"float64 crept in: {done} in float64, the variables are float32",
        "NumPy makes float64 unless told otherwise, and an array keeps its dtype when it becomes a "
        "tensor.",
        places_of([*doors, *work]),
        count or nodes,
        f"{megabytes(size)} came in as float64: twice the memory, about half the speed, and an "
        "error or a cast where it meets float32.",
        "Convert where the data comes in: array.astype(np.float32), or tf.constant(array, "
        "tf.float32).",
    )


def _round_trips(seen: Observation) -> Iterator[Finding]:
    """TW615: values that leave for NumPy and come back, in a loop."""
    for door in seen.entries.values():
        if door.count < TRIPS:
            continue
        back = [way for way in seen.exits.values() if way.count >= TRIPS and flows_into(way, door)]
        if back:
            yield _trip(door, back)
    for way in seen.fetches.values():
        if way.count >= TRIPS:
            yield _fetches(way)
    for record in (*seen.graphs.all_records(), seen.graphs.traces):
        runs = seen.calls if record.table is None else record.runs
        for spot in record.spots.values():
            if runs >= TRIPS and not HOST.isdisjoint(spot.prims):
                yield _python_inside(spot, runs)
    for run in seen.graphs.run_spots.values():
        if run.feedbacks >= TRIPS:
            yield Finding(
                "TW615",
                f"what a session gave was fed to it again {run.feedbacks:,} times",
                "A value goes out to NumPy as a result of session.run, and back in through "
                "feed_dict.",
                (run.place,),
                run.feedbacks,
                f"{megabytes(run.feedback_bytes)} copied out and in.",
                "Keep the value in a tf.Variable, and let the step assign the next one to it.",
            )


def _fetches(way: HostTransfer) -> Finding:
    return Finding(
        "TW615",
        f"values were fetched from a device {way.count:,} times",
        "A value that a compiled step left on the device is looked at, or given to an operation "
        "outside of tf.function, which runs on the CPU.",
        (way.place,),
        way.count,
        f"{megabytes(way.bytes)} copied to the host; Python waits each time until the device has "
        "computed the value.",
        "Look every so many steps, add up in a tf.Variable what is looked at, or put the operation "
        "into the tf.function.",
    )


def _trip(door: HostTransfer, back: list[HostTransfer]) -> Finding:
    count = min(door.count, sum(way.count for way in back))
    return Finding(
        "TW615",
        f"values left for NumPy and came back {count:,} times",
        "The value of a tensor is taken out, and what is made of it becomes a tensor again.",
        places_of([*back, door]),
        count,
        f"{megabytes(door.bytes)} copied back in; no gradient flows through NumPy, and "
        "tf.function cannot compile it.",
        "Stay in tensors: nearly every function of NumPy has one of the same name in tf, tf.math "
        "or tf.linalg.",
    )


def _python_inside(spot: GraphSpot, runs: int) -> Finding:
    return Finding(
        "TW615",
        f"`{spot.text or 'a line'}` leaves the graph for Python in each of {runs:,} runs",
        "tf.py_function and tf.numpy_function call Python while the graph runs: tensors become "
        "arrays, and the results tensors again.",
        (spot.place,),
        runs,
        "The compiled step is interrupted, and Python's lock taken; no gradient flows through "
        "tf.numpy_function.",
        "Write it with operations of tf; what only reads data belongs before the step.",
    )


def _find_unused(calls: Any) -> Iterator[Finding]:
    """TW616: results that nobody takes."""
    for spots in calls:
        spot = spots[0]
        if spot.prim.effect is not None or not spot.module.startswith(PURE):
            continue
        if is_dropped(spot.code, spot.offset):
            yield report_unused(spot, min(other.count for other in spots))


def report_unused(spot: Any, count: int) -> Finding:
    """Return the finding about a line whose result nobody takes."""
    names = [spot.prim.name] if isinstance(spot, EagerSpot) else list(spot.prims)
    text = spot.text or (names[0] if len(names) == 1 else "an operation")
    times = "once" if count == 1 else f"{count:,} times"
    return Finding(
        "TW616",
        f"the result of `{text}` is not used",
        "Operations change nothing in place: what they compute is their result, and this one is "
        f"thrown away (computed {times}).",
        (spot.place,),
        count,
        "The work is done for nothing, and what the line was meant to do does not happen.",
        "Give the result a name and go on with it; variables change by assign, assign_add, "
        "assign_sub.",
    )


def _find_kept(seen: Observation, spots: list[EagerSpot]) -> Iterator[Finding]:
    """TW617: results that are all kept while the program goes on."""
    for spot in spots:
        if spot.held is None or spot.count < KEPT_RESULTS:
            continue
        count, share, first, last = spot.held
        size = spot.bytes / max(spot.sampled, 1) * count * share
        long = last - first >= 0.4 * seen.looks  # not only while things were prepared
        if share >= ALIVE and size >= KEPT_BYTES and long:
            holder = f"They are in {spot.holder}." if spot.holder else "Something refers to them."
            yield Finding(
                "TW617",
                f"memory grows: at least {int(count * share):,} results of "
                f"`{spot.text or spot.prim.name}` are alive at the same time",
                f"{holder} Nothing lets them go while the program runs.",
                (spot.place,),
                spot.count,
                f"{megabytes(size)} and growing with every step.",
                "Keep only what is needed: float(loss) instead of the tensor, a running mean, the "
                "last value; open a new tape in each step.",
            )
            return


def _element_by_element(calls: Any) -> Iterator[Finding]:
    """TW618: a tensor taken apart, element by element, in Python."""
    for spots in calls:
        takers = [spot for spot in spots if Trait.TAKES_ELEMENTS in spot.prim.traits]
        taking = max(
            takers,
            key=lambda spot: spot.count,
            default=None,
        )
        if taking is None or len(takers) < len(spots) or taking.count < ELEMENTS:
            continue
        if taking.bytes / max(taking.sampled, 1) <= 64:
            yield Finding(
                "TW618",
                f"a tensor is taken apart in Python: {taking.count:,} times "
                f"`{taking.text or 'x[i]'}`",
                "Each element that is taken is an operation of its own.",
                (taking.place,),
                taking.count,
                f"About {taking.count * 12 / 1e6:.2g} s, where one operation on the whole takes "
                "microseconds.",
                "Compute on the whole tensor: an operation with axis=, tf.gather, tf.map_fn; for "
                "numbers in Python take x.numpy() once.",
            )


def _many_small(seen: Observation, spots: list[EagerSpot]) -> Iterator[Finding]:
    """TW619: a loop that runs thousands of small operations one by one."""
    functions: dict[int, list[EagerSpot]] = {}
    for spot in spots:
        functions.setdefault(id(spot.code), []).append(spot)
    for group in functions.values():
        total = sum(spot.count for spot in group)
        small = sum(spot.count for spot in group if spot.bytes / max(spot.sampled, 1) <= SMALL)
        if total < SMALL_OPERATIONS or group[0].count < SMALL_STEPS or small < 0.9 * total:
            continue
        cost = total * seen.call_seconds()
        if cost < SHARE * seen.processor_seconds:
            continue
        name = group[0].place.function
        where = "the program" if name == "<module>" else f"`{name}`"
        yield Finding(
            "TW619",
            f"{total:,} small operations ran one by one in {where}",
            "Each operation is called from Python on its own, which takes longer than what it "
            "computes.",
            places_of(group),
            total,
            f"About {cost:.2g} s of calls; compiled, a step is one call.",
            "Put the step into a function under @tf.function, and call that in the loop.",
        )
