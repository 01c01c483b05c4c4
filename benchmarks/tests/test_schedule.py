"""Who is asked when, with workers that only pretend."""

from benchmarks.declare import Benchmark, Contender
from benchmarks.schedule import Plan, measure

PLAN = Plan(sample=0.1, budget=0.4, least=1, most=4)


class Pretended:
    """A crew that answers from a script and writes down what it was asked."""

    def __init__(self, names, prepared=None, ran=None):
        self.names = names
        self.threads = 1
        self.prepared = prepared or {}
        self.ran = ran or {}
        self.asked = []

    def ask(self, name, do, **request):
        self.asked.append((do, name))
        if do == "prepare":
            default = {"ok": True, "seconds": 0.01, "first_call": 0.5, "digest": [1.0]}
            return self.prepared.get(name, default)
        return self.ran.get(name, {"ok": True, "wall": 8.0, "cpu": 4.0})

    def dismiss(self, name):
        self.asked.append(("dismiss", name))

    def turns(self):
        return [name for do, name in self.asked if do == "run"]


def work(*peers, **fields):
    contenders = tuple(Contender(peer, "", lambda: None) for peer in peers)
    return Benchmark("topic.work", "work", contenders, **fields)


def test_contenders_take_turns_in_changing_orders():
    names = ["talweg", "numpy", "jax", "torch"]
    crew = Pretended(names)
    row = measure(work(*names), crew, PLAN)
    turns = crew.turns()
    rounds = [tuple(turns[start : start + 4]) for start in range(0, 16, 4)]
    assert all(sorted(each) == sorted(names) for each in rounds)
    assert len(set(rounds)) > 2
    before = {turns[place - 1] for place in range(1, 16) if turns[place] == "talweg"}
    assert len(before - {"talweg"}) > 1
    assert row.series["talweg"].iterations == 10
    assert [sample[0] for sample in row.series["numpy"].samples] == [0, 1, 2, 3]


def test_only_chosen_peers_are_asked():
    crew = Pretended(["numpy"])
    assert list(measure(work("talweg", "numpy"), crew, PLAN).series) == ["numpy"]


def test_a_slow_contender_is_sampled_less():
    slow = {"ok": True, "seconds": 0.3, "first_call": 1.0, "digest": []}
    crew = Pretended(["talweg", "jax"], prepared={"jax": slow})
    row = measure(work("talweg", "jax"), crew, PLAN)
    assert (len(row.series["talweg"].samples), len(row.series["jax"].samples)) == (4, 1)


def test_an_absent_peer_has_no_series():
    crew = Pretended(["jax"], prepared={"jax": {"ok": False, "absent": True, "error": "none"}})
    assert measure(work("jax"), crew, PLAN).series == {}


def test_a_failure_is_kept_and_stops_its_contender():
    broken = {"ok": False, "error": "ValueError: bad"}
    crew = Pretended(["talweg", "numpy"], ran={"talweg": broken})
    row = measure(work("talweg", "numpy"), crew, PLAN)
    assert row.series["talweg"].error == "ValueError: bad"
    assert crew.turns().count("talweg") == 1 and crew.turns().count("numpy") == 4


def test_figures_are_scaled():
    row = measure(work("numpy", scale=4), Pretended(["numpy"]), PLAN)
    assert row.series["numpy"].samples[0] == (0, 2.0, 1.0)


def test_a_fresh_benchmark_restarts_its_worker_for_each_sample():
    crew = Pretended(["numpy"])
    measure(work("numpy", fresh=True, rounds=2), crew, PLAN)
    once = [("dismiss", "numpy"), ("prepare", "numpy"), ("run", "numpy")]
    assert crew.asked == [("prepare", "numpy"), *once, *once, ("release", "numpy")]


def test_ticks_say_what_happens():
    said = []
    measure(work("numpy", rounds=1), Pretended(["numpy"]), PLAN, said.append)
    assert said == ["prepares numpy", "round 1"]
