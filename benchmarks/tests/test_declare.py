"""Declarations: contenders by name, sweeps, selection, and the real topics."""

# pyright: reportSelfClsParameterName=false

import pytest

from benchmarks import declare
from benchmarks.declare import Flat, benchmark, load_topics, select
from benchmarks.peers import PEERS


@pytest.fixture
def registry(monkeypatch):
    made = {}
    monkeypatch.setattr(declare, "REGISTRY", made)
    return made


def test_a_class_body_becomes_contenders(registry):
    @benchmark("topic.work")
    class Work:
        """Does work,
        in two lines."""

        def numpy(np): ...
        def tf(tf): ...
        def torch_channels_last(torch): ...
        def _helper(): ...

    made = registry["topic.work"]
    labels = [contender.label for contender in made.contenders]
    assert labels == ["numpy", "talweg", "tensorflow", "torch channels last"]
    assert made.measures == "Does work, in two lines."
    assert made.contender("tensorflow").setup is made.contender("talweg").setup
    assert [c.label for c in made.of_peers(["torch"])] == ["torch channels last"]
    with pytest.raises(KeyError):
        made.contender("torch")


def test_a_sweep_becomes_members(registry):
    @benchmark("topic.chain", sweep={"length": [1, 10]}, per="length", aims=[Flat(1.5)])
    class Chain:
        """Chain."""

        def every(peer): ...

    assert list(registry) == ["topic.chain[1]", "topic.chain[10]"]
    last = registry["topic.chain[10]"]
    assert (last.scale, last.parameters, last.family) == (10, {"length": 10}, "topic.chain")
    assert last.size == 10
    assert len(last.contenders) == len(PEERS)


def test_an_unknown_peer_is_an_error(registry):
    with pytest.raises(ValueError, match="'theano' is no peer"):

        @benchmark("topic.work")
        class Work:
            """Work."""

            def theano(theano): ...


def test_two_benchmarks_of_one_name_are_an_error(registry):
    class Work:
        """Work."""

        def numpy(np): ...

    benchmark("topic.work")(Work)
    with pytest.raises(ValueError, match="two benchmarks are named topic.work"):
        benchmark("topic.work")(Work)


@pytest.mark.parametrize(
    "name, count",
    [("tape", 7), ("tape.chain", 5), ("tape.chain[10]", 1), ("cnn.step", 1), ("compiled.start", 3)],
)
def test_selection_by_topic_family_and_member(name, count):
    assert len(select([name], load_topics())) == count


def test_selection_keeps_each_once_and_rejects_the_unknown():
    registry = load_topics()
    assert len(select(["tape.chain", "tape"], registry)) == 7
    assert len(select([], registry)) == len(registry)
    with pytest.raises(LookupError, match="tap"):
        select(["tap"], registry)


def test_compiled_work_is_compared_with_both_compilers_and_with_eager():
    for made in select(["compiled"], load_topics()):
        labels = {contender.label for contender in made.contenders}
        peers = {label.partition(" ")[0] for label in labels}
        if made.name.startswith(("compiled.fixed_point", "compiled.embedding_unique")):
            # the others refuse
            assert labels == {"talweg", "tensorflow", "torch", "numpy"}
        elif made.name == "compiled.masked_loss":  # XLA and JAX refuse boolean masks
            assert {"tensorflow", "torch"} <= labels
        elif made.name != "compiled.session":  # only TensorFlow has one
            assert {"tensorflow", "tensorflow xla", "torch"} <= labels and "jax" in peers, made.name


def test_every_topic_measures_talweg_and_names_real_contenders():
    for made in load_topics().values():
        labels = {contender.label for contender in made.contenders}
        assert made.subject in labels, made.name
        named = {aim.of for aim in made.aims if isinstance(aim, declare.Ratio)}
        assert named <= labels | {"best"}, made.name
