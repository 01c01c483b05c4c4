"""Medians, ratios, verdicts: arithmetic on samples that are written down here."""

import doctest
import math

import pytest

from benchmarks import crew, figures
from benchmarks.declare import AtMost, Benchmark, Flat, Ratio
from benchmarks.figures import Row, Series


def series(*values, **fields):
    return Series([(turn, value, value / 2) for turn, value in enumerate(values)], **fields)


def row(name="topic.work", aims=(), scale=1, unit="seconds", **by_label):
    parameters = {"length": scale}
    benchmark = Benchmark(
        name, "work", (), tuple(aims), unit=unit, scale=scale, parameters=parameters
    )
    return Row(benchmark, 1, {label.replace("_", " "): s for label, s in by_label.items()})


def verdict(aim, ours, **others):
    made = row(aims=[aim], talweg=ours, **others)
    return figures.judge(aim, made, [made])


@pytest.mark.parametrize("module", [figures, crew])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_series_summarises_by_clock():
    samples = series(3.0, 1.0, 2.0)
    assert (samples.median(), samples.minimum()) == (2.0, 1.0)
    assert (samples.median("cpu"), samples.minimum("cpu")) == (1.0, 0.5)
    assert samples.spread() == 0.5


def test_spread_of_nothing_is_zero():
    assert series(0.0, 0.0).spread() == 0.0


def test_ratio_is_taken_within_rounds():
    ours = Series([(0, 2.0, 0), (1, 20.0, 0), (2, 2.0, 0)])
    theirs = Series([(0, 1.0, 0), (1, 10.0, 0), (7, 0.001, 0)])
    assert figures.paired_ratio(ours, theirs) == 2.0


def test_ratio_without_a_shared_round_is_nan():
    assert math.isnan(figures.paired_ratio(Series([(0, 1, 1)]), Series([(1, 1, 1)])))


def test_best_peer_is_neither_talweg_nor_the_floor():
    made = row(talweg=series(1), numpy=series(2), torch=series(9), jax_jit=series(5))
    assert figures.best_peer(made) == "jax jit"
    assert figures.best_peer(row(talweg=series(1), numpy=series(2))) is None


def test_failed_contenders_are_no_rivals():
    assert figures.best_peer(row(torch=Series(error="broken"), jax=series(5))) == "jax"


@pytest.mark.parametrize("value, met", [(1.0, True), (1.5, True), (1.6, False)])
def test_absolute_aim(value, met):
    found = verdict(AtMost(1.5), series(value))
    assert (found.met, found.value, found.unit) == (met, value, "seconds")


@pytest.mark.parametrize("theirs, met", [(1.0, True), (0.4, False)])
def test_ratio_aim(theirs, met):
    found = verdict(Ratio(2.0, of="numpy"), series(1.0), numpy=series(theirs))
    assert (found.met, found.aim) == (met, "≤ 2 × numpy")


def test_ratio_to_the_best_names_it():
    found = verdict(Ratio(1.0), series(1.0), numpy=series(0.1), torch=series(2.0))
    assert (found.met, found.aim) == (True, "≤ 1 × best (torch)")


@pytest.mark.parametrize("aim", [AtMost(1.0), Ratio(1.0, of="numpy"), Flat(1.5)])
def test_an_aim_without_figures_is_neither_met_nor_missed(aim):
    found = verdict(aim, Series(error="broken"), numpy=series(1.0))
    assert (found.met, found.note) == (None, "not measured")


def test_ratio_to_an_absent_peer_is_not_judged():
    assert verdict(Ratio(1.0), series(1.0)).met is None


@pytest.mark.parametrize("last, met", [(1.4, True), (1.6, False)])
def test_flat_compares_with_the_cheapest_smaller_size(last, met):
    aim = Flat(1.5)
    rows = [
        row(f"tape.chain[{size}]", [aim], size, talweg=series(cost))
        for size, cost in ((10, 3.0), (100, 1.0), (1000, last))
    ]
    verdicts = [figures.judge(aim, each, rows) for each in rows]
    assert [v.met for v in verdicts] == [None, True, met]
    assert verdicts[0].note == "smallest size"


def test_an_unknown_aim_is_an_error():
    with pytest.raises(TypeError, match="no rule for the aim"):
        verdict("fast", series(1.0))


def test_disagreement_is_against_the_first_reference():
    made = row(
        talweg=series(1, digest=[1.0, 2.1]),
        tensorflow=series(1, digest=[1.0, 2.0]),
        torch=series(1, digest=[1.00001, 2.0]),
        numpy=series(1),
    )
    assert figures.disagreements(made) == ["talweg"]


def test_digests_of_another_length_disagree():
    made = row(numpy=series(1, digest=[1.0]), talweg=series(1, digest=[1.0, 1.0]))
    assert figures.disagreements(made) == ["talweg"]


def test_iterations_are_bounded():
    assert figures.iterations_for(0.0, 0.02) == 1_000_000
    assert figures.rounds_for(1.0, 1.5, 3, 25) == 3
    assert figures.rounds_for(0.03, 1.5, 3, 25) == 25


@pytest.mark.parametrize(
    "figure, unit, text",
    [(0.0605, "seconds", "60.5 ms"), (2.0, "seconds", "2 s"), (3.2e6, "bytes", "3.2 MB")],
)
def test_units(figure, unit, text):
    assert figures.shown(figure, unit) == text
