"""The command line and what it prints and writes."""

import io
import json
import re

import pytest
from rich.console import Console

from benchmarks import command, facts, profiling, report
from benchmarks.declare import AtMost, Benchmark, Ratio
from benchmarks.figures import Row, Series
from benchmarks.peers import PEERS, interpreter, missing, set_up


def rows():
    made = Benchmark("topic.work", "work", (), (AtMost(1.0), Ratio(2.0, of="numpy")))
    series = {
        "talweg": Series([(0, 1.5, 1.5)], digest=[1.0]),
        "numpy": Series([(0, 1.0, 1.0)], digest=[2.0]),
        "torch": Series([(0, 3.0, 3.0)]),
        "torch compiled": Series(error="RuntimeError: no compiler"),
    }
    return [Row(made, 1, series)]


def printed(*things):
    stream = io.StringIO()
    Console(file=stream, width=140).print(*things)
    return stream.getvalue()


def test_the_table_has_figures_ratios_and_verdicts():
    text = printed(report.table(rows(), ["talweg", "numpy", "torch"]))
    for part in ("topic.work", "1.5 s", "✗ 1.5 s", "✓ × 1.5", "≤ 2 × numpy"):
        assert part in text, part
    assert re.search(r"compiled:.*\n.*fails", text)


def test_remarks_name_the_missing_the_failed_and_the_different():
    found = "\n".join(report.remarks(rows(), {"jax": "no environment"}))
    assert "jax is left out: no environment" in found
    assert "torch compiled failed: RuntimeError: no compiler" in found
    assert "talweg computes something else" in found


def test_the_document_is_plain_data(tmp_path):
    document = report.document(rows(), facts.machine(), {}, {})
    report.write(tmp_path / "out.json", document)
    read = json.loads((tmp_path / "out.json").read_text())
    assert read["tally"] == {"met": 1, "missed": 1, "not judged": 0}
    contenders = read["results"][0]["contenders"]
    assert contenders["talweg"]["median"] == 1.5
    assert contenders["torch"]["ours_over_this_at_best"] == 0.5
    assert contenders["torch compiled"]["error"] == "RuntimeError: no compiler"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_facts_hold_no_names_or_paths():
    import getpass
    import platform

    text = json.dumps(facts.machine())
    assert platform.node() not in text or not platform.node()
    assert f'"{getpass.getuser()}"' not in text and "/home" not in text


def test_list_and_help(capsys):
    assert command.main(["--list", "cnn"]) == 0
    assert "cnn.step" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0


def test_an_unknown_benchmark_is_answered_with_close_ones(capsys):
    assert command.main(["egaer"]) == 2
    assert "no benchmark is named egaer; close: eager" in capsys.readouterr().err


def test_a_missing_folder_is_found_before_measuring(tmp_path, capsys):
    assert command.main(["eager", "--json", str(tmp_path / "none" / "out.json")]) == 2
    assert "its folder does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--peers", "theano"], ["--threads", "many"], ["--threads", "0"]]
)
def test_wrong_options_end_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2


def test_setup_and_profile_reject_unknown_names(capsys):
    assert command.main(["setup", "theano"]) == 2
    assert command.main(["profile"]) == 2
    assert command.main(["profile", "eager.scalar", "theano"]) == 2


def test_setup_has_nothing_to_do_at_home():
    said = []
    assert set_up(["numpy"], said.append) == []
    assert len(said) == 1


def test_interpreters_by_variable_then_home():
    jax, numpy = PEERS["jax"], PEERS["numpy"]
    assert interpreter(jax, {jax.variable: "python-of-jax"}) == "python-of-jax"
    assert interpreter(numpy, {}) is not None
    assert jax.variable in missing(jax)


def test_a_run_from_end_to_end(tmp_path, capsys):
    out = tmp_path / "run.json"
    arguments = ["eager.scalar", "--peers", "numpy", "--quick", "--json", str(out)]
    assert command.main(arguments) == 0
    assert "eager.scalar" in capsys.readouterr().out
    assert json.loads(out.read_text())["results"][0]["contenders"]["numpy"]["samples"]


def test_a_profile_names_functions(capsys, monkeypatch):
    monkeypatch.setattr(profiling, "SECONDS", 1e-4)
    profiling.profile("eager.scalar", "numpy")
    assert "eager.py" in capsys.readouterr().out
