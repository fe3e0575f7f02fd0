"""The command line as a person types it."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from omegaconf import OmegaConf

from fedbayes.command_line import without_places
from fedbayes.errors import ConfigurationError
from fedbayes.run import check_overrides, in_words, main, options_last
from fedbayes.run import run as run_composed

SMALL = ["+experiment=quickstart", "dataset=[car]", "clients=5", "n=0", "folds=2", "jobs=1", "report=false"]


def run(*arguments, cwd, check=None, **environment):
    ended = subprocess.run(
        [sys.executable, "-m", "fedbayes.run", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200", "FEDBAYES_DATA": ""} | environment,
    )
    if check is not None:
        assert ended.returncode == check, ended.stderr
    return ended


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def numbers(path):
    return [{k: v for k, v in row.items() if not k.endswith("_seconds")} for row in rows(path)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    ended = run(*SMALL, "output_dir=out", cwd=folder, check=0)
    return folder, ended


def test_a_run_writes_its_rows_and_a_manifest_and_nothing_else(finished):
    folder, ended = finished
    written = rows(folder / "out" / "runs.csv")
    assert len(written) == 2 * 2 * 2
    assert {row["status"] for row in written} == {"done"}
    by_kind = {(row["learner"], row["regime"]): row for row in written}
    assert by_kind["generative", "federated"]["epsilon"] == "1.0"
    assert by_kind["generative", "local"]["epsilon"] == ""
    assert by_kind["discriminative", "local"]["settings"] == "folds=2;local_max_iterations=200"
    assert by_kind["discriminative", "federated"]["rounds"] == "10"
    assert by_kind["generative", "federated"]["accuracy_client_std"] == ""
    assert by_kind["discriminative", "federated"]["accuracy_client_std"] != ""
    assert all((row["rows"], row["attributes"], row["classes"]) == ("1728", "6", "4") for row in written)
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    entry = manifest["invocations"][0]
    assert entry["exit_code"] == 0 and entry["finished"]
    assert entry["datasets"]["car"]["source"] == "rules" and entry["datasets"]["car"]["complete"] is True
    assert str(folder) not in json.dumps(manifest)
    assert sorted(path.name for path in folder.iterdir()) == ["out"]  # Hydra leaves nothing
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["manifest.json", "parts", "runs.csv"]
    assert "8 done" in ended.stdout
    # where compiling takes longer than a minute there are lines of progress
    assert all(" tasks, " in line for line in ended.stderr.splitlines())


def test_the_same_command_computes_nothing_again(finished):
    folder, _ = finished
    before = (folder / "out" / "runs.csv").read_bytes()
    again = run(*SMALL, "output_dir=out", cwd=folder, check=0)
    assert "8 rows were done before; now nothing to do" in again.stdout
    assert (folder / "out" / "runs.csv").read_bytes() == before


def test_rerun_says_what_was_done_and_computes_it_anew(finished):
    folder, _ = finished
    shutil.copytree(folder / "out", folder / "again")
    options = (*SMALL, "learner=generative", "regime=[local,federated]", "output_dir=again")
    dry = run(*options, "rerun=all", "dry_run=true", cwd=folder, check=0)
    assert "rows done: 4" in dry.stdout and "rows to do: 4, those done among them" in dry.stdout
    failed = run(*options, "n=[0,1]", "rerun=failed", cwd=folder, check=0)
    assert "4 rows were done before; now nothing to do" in failed.stdout
    ended = run(*options, "rerun=all", cwd=folder, check=0)
    assert "4 rows were done before and are computed anew; now 4 done" in ended.stdout


def test_a_duration_has_a_unit_that_shows_it():
    assert [in_words(seconds) for seconds in (0, 0.4, 89, 90, 5000, 5400, 360_000)] == [
        "0 seconds", "1 second", "89 seconds", "2 minutes", "83 minutes", "1.5 hours", "100.0 hours",
    ]  # fmt: skip


def test_two_processes_and_two_shards_give_the_same_numbers(finished):
    folder, _ = finished
    expected = numbers(folder / "out" / "runs.csv")
    run(*SMALL, "jobs=2", "output_dir=two", cwd=folder, check=0)
    assert numbers(folder / "two" / "runs.csv") == expected
    shards = [
        subprocess.Popen(
            [sys.executable, "-m", "fedbayes.run", *SMALL, "output_dir=shards", f"shard={i}/2"],
            cwd=folder, stdout=subprocess.DEVNULL,
        )
        for i in (1, 2)
    ]  # fmt: skip
    assert [process.wait() for process in shards] == [0, 0]
    assert numbers(folder / "shards" / "runs.csv") == expected


def test_kill_in_the_middle_then_the_same_command(finished):
    folder, _ = finished
    expected = numbers(folder / "out" / "runs.csv")
    process = subprocess.Popen(
        [sys.executable, "-m", "fedbayes.run", *SMALL, "output_dir=killed"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    parts = folder / "killed" / "parts"
    while time.monotonic() < deadline and process.poll() is None:
        if any(path.stat().st_size for path in parts.glob("runs-*.csv")):
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    run(*SMALL, "output_dir=killed", cwd=folder, check=0)
    assert numbers(folder / "killed" / "runs.csv") == expected


def test_dry_run_counts_and_writes_nothing(finished):
    folder, _ = finished
    ended = run(*SMALL, "n=[0,1]", "output_dir=out", "dry_run=true", cwd=folder, check=0)
    assert "cells: 8 (16 rows)" in ended.stdout
    assert "rows done: 8" in ended.stdout and "rows to do: 8" in ended.stdout
    assert re.search(
        r"rough cost: [1-9]\d* core-seconds?, [1-9]\d* seconds? with jobs=1$", ended.stdout, re.M
    )
    run(*SMALL, "output_dir=fresh", "dry_run=true", cwd=folder, check=0)
    assert not (folder / "fresh").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["+experiment=quickstart", "+alhpa=3"], ["unknown key 'alhpa'", "did you mean 'alpha'"]),
        (["+experiment=quickstart", "dataset=[caar]"], ["'caar'", "did you mean 'car'"]),
        (["+experiment=quickstrat"], ["'quickstrat'", "did you mean 'quickstart'"]),
        (["+experiment=quickstart", "clients=0"], ["clients=0", ">= 1"]),
        (["+experiment=quickstart", "folds=1"], ["folds=1", "from 2"]),
        (["+experiment=quickstart", "epsilon=nan"], ["epsilon=nan", "> 0"]),
        (["+experiment=quickstart", "seeds=[]"], ["seeds=[]", "at least one"]),
        (["+experiment=quickstart", "n=9"], ["n=9", "attributes"]),
        (["+experiment=quickstart", "shard=5/4"], ["shard='5/4'", "i/N"]),
        (["+experiment=governance_quickstart", "alpha=-1"], ["alpha=-1", "> 0"]),
        (["+experiment=quickstart", "dataset=[]"], ["dataset=[]"]),
        (["-m", "+experiment=fedande,governance"], ["sweep over experiments"]),
        ([], ["+experiment=NAME", "quickstart"]),
    ],
)
def test_wrong_configuration_is_one_line_and_exit_code_2(tmp_path, arguments, words):
    ended = run(*arguments, cwd=tmp_path, check=2)
    lines = ended.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("fedbayes: ")
    for word in words:
        assert word in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_of_ones_own_by_one_yaml_file(tmp_path):
    (tmp_path / "mine" / "dataset").mkdir(parents=True)
    (tmp_path / "mine" / "dataset" / "weather.yaml").write_text(
        "weather:\n  title: Weather\n  file: weather.csv\n  target: play\n  why: a file of one's own\n"
    )
    lines = ["outlook,windy,play"]
    lines += [
        f"{o},{w},{'no' if w == 'yes' else 'yes'}" for o in ("sunny", "rain", "cloudy") for w in ("yes", "no")
    ] * 3
    (tmp_path / "mine" / "dataset" / "weather.csv").write_text("\n".join(lines) + "\n")
    run(
        "--config-dir", "mine", "+experiment=quickstart", "dataset=[weather]", "clients=3", "n=[0,1,2]", "folds=3",
        "jobs=1", "output_dir=out", "report=false", cwd=tmp_path, check=0,
    )  # fmt: skip
    written = rows(tmp_path / "out" / "runs.csv")
    assert {row["status"] for row in written if row["n"] == "2"} == {"skipped"}
    assert "n=2 needs more than 2 attributes" in next(row["message"] for row in written if row["n"] == "2")
    perfect = [
        row
        for row in written
        if row["learner"] == "discriminative" and row["regime"] == "local" and row["n"] == "0"
    ]
    assert all(float(row["accuracy"]) == 1.0 for row in perfect)


def test_a_data_set_of_ones_own_named_like_one_of_the_package_is_refused(tmp_path):
    folder = tmp_path / "mine" / "dataset"
    folder.mkdir(parents=True)
    (folder / "car.yaml").write_text("car:\n  title: My cars\n  file: car.csv\n  target: side\n")
    ended = run("--config-dir", "mine", *SMALL, "output_dir=out", cwd=tmp_path, check=2)
    assert "'car'" in ended.stderr and "another name" in ended.stderr and len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_changed_data_stop_the_run(tmp_path):
    folder = tmp_path / "mine" / "dataset"
    folder.mkdir(parents=True)
    (folder / "coin.yaml").write_text("coin:\n  title: Coin\n  file: coin.csv\n  target: side\n")
    command = ["--config-dir", "mine", "+experiment=quickstart", "dataset=[coin]", "clients=2", "n=0", "folds=2",
               "jobs=1", "output_dir=out", "report=false"]  # fmt: skip
    (folder / "coin.csv").write_text("face,side\n" + "a,x\nb,y\n" * 8)
    run(*command, cwd=tmp_path, check=0)
    (folder / "coin.csv").write_text("face,side\n" + "a,y\nb,x\n" * 8)
    for more in ([], ["seeds=43"]):
        ended = run(*command, *more, cwd=tmp_path, check=2)
        assert "'coin' is not the one" in ended.stderr and "output_dir" in ended.stderr
    (folder / "coin.csv").unlink()
    assert "nothing to do" in run(*command, cwd=tmp_path, check=0).stdout


def no_openml(folder):
    """Environment in which OpenML is a closed port of this machine."""
    (folder / "config" / "openml").mkdir(parents=True, exist_ok=True)
    (folder / "config" / "openml" / "config").write_text("server=http://127.0.0.1:9/api/v1/xml\n")
    return {
        "FEDBAYES_DATA": "", "FEDBAYES_CACHE": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config"),
    }  # fmt: skip


def test_unavailable_data_become_rows_and_the_rest_runs(tmp_path):
    ended = run(
        *SMALL, "dataset=[car,vote]", "output_dir=out", cwd=tmp_path, check=1,
        **no_openml(tmp_path),
    )  # fmt: skip
    written = rows(tmp_path / "out" / "runs.csv")
    assert {(row["dataset"], row["status"]) for row in written} == {("car", "done"), ("vote", "unavailable")}
    assert "vote" in ended.stderr and "data_dir" in ended.stderr
    strict = run(
        *SMALL, "dataset=[car,vote]", "output_dir=strict", "strict_data=true", cwd=tmp_path, check=2,
        **no_openml(tmp_path),
    )  # fmt: skip
    assert "strict_data" in strict.stderr
    assert not (tmp_path / "strict" / "runs.csv").exists()


def test_a_small_sweep_of_hydra(tmp_path):
    run("-m", *SMALL, "seeds=42,43", "output_dir=out", "folds=2", cwd=tmp_path, check=0)
    assert {row["seed"] for row in rows(tmp_path / "out" / "runs.csv")} == {"42", "43"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("~dataset", "~dataset is not allowed: choose at least one of car"),
        ("dataset=null", "dataset=null is not allowed: choose at least one of car"),
        ("dataset=car,nursery", "a sweep: choose several data sets with 'dataset=[a,b]'"),
        ("+experiment=quickstart,fedande", "names several experiments"),
        ("execution=null", "execution=null is not allowed: one of local, dask"),
        ("=3", "'=3' names no key"),
        (
            "quickstart",
            "'quickstart' has no value: write key=value; an experiment is chosen with +experiment=quickstart",
        ),
        ("folds", "'folds' has no value: write key=value"),
        ("output_dir=größe", "output_dir=größe needs quotes around its value: \"output_dir='größe'\""),
        ("+data_dir=a=b", "needs quotes around its value: \"+data_dir='a=b'\""),
        ("rounds=" + "9" * 5000, "rounds holds a number of thousands of digits"),
        ("dataset=" + "9" * 5000, "dataset holds a number of thousands of digits"),
        ("n=" + "[" * 1500 + "]" * 1500, "n is nested too deeply"),
    ],
)
def test_overrides_that_hydra_explains_badly(argument, words):
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        check_overrides([argument])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["+experiment=fedande", "cliens=5"], "no key 'cliens'; did you mean 'clients'? (--help lists all keys)"),
        (["-m", "+experiment=fedande", "seedz=1,2"], "no key 'seedz'; did you mean 'seeds'? (--help lists all keys)"),
        (["clients=5"], "clients belongs to an experiment: choose one with +experiment=NAME (--help lists them)"),
        (["+experiment=fedande", "execution.jobz=1"], "no key 'execution.jobz' (--help lists all keys)"),
        (["+experiment=fedande", "n=[0"], "no viable alternative at input '[0'"),
        (["execution=nosuch"], "In 'config': Could not find 'execution/nosuch'; Available options in 'execution': dask; local"),
        (["+experiment=fedande", "execution=5"], "Config group override must be a string or a list. Got int"),
        (["+experiment=fedande", "n.b=1"], "invalid literal for int() with base 10: 'b'"),
        (["+experiment=fedande", "--resolve"],
         "The --resolve flag can only be used in conjunction with --cfg or --help"),
        (["--config-dir", "nosuch"], "Additional config directory '{here}/nosuch' not found"),
    ],
)  # fmt: skip
def test_what_hydra_refuses_is_one_line(tmp_path, monkeypatch, capsys, arguments, line):
    monkeypatch.chdir(tmp_path)
    assert typed(monkeypatch, *arguments) == 1
    assert capsys.readouterr().err == f"fedbayes: {line.format(here=tmp_path)}\n"


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"mine: [1\nb: {", 1, "a configuration file is not valid YAML: "),
        (b"mine:\n  title: a\n  title: b\n", 1, 'mine.yaml", line 3, column 3'),
        (b"mine:\n  title: \xff\n", 1, "{here}/dataset/mine.yaml is not UTF-8 text"),
        (b"mine:\n  title: ${oops", 1, "no viable alternative at input '${{oops'"),
        (b"defaults: [mine]\n", 1, "a configuration file or value is nested too deeply, or includes itself"),
        (b"mine:\n  rows: " + b"9" * 5000, 1, "Exceeds the limit"),
        (b"- 1\n- 2\n", 2, "dataset is not a mapping of names to descriptions"),
        (b"title: a\n", 2, "name is None"),
    ],
)
def test_a_data_set_file_that_cannot_be_read_is_one_line(tmp_path, monkeypatch, capsys, content, code, words):
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "mine.yaml").write_bytes(content)
    arguments = ["+experiment=fedande", "dataset=[mine]", f"--config-dir={tmp_path}", "dry_run=true"]
    assert typed(monkeypatch, *arguments) == code
    error = capsys.readouterr().err
    assert words.format(here=tmp_path) in error and error.count("\n") == 1


def test_an_executor_that_is_none_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "experiment").mkdir()
    own = "# @package _global_\ndefaults: [fedande]\nexecution: 5\n"
    (tmp_path / "experiment" / "own.yaml").write_text(own)
    assert typed(monkeypatch, "+experiment=own", f"--config-dir={tmp_path}", "dry_run=true") == 2
    assert "execution=5 is not allowed: one of local, dask" in capsys.readouterr().err


def test_values_of_hydras_options_are_not_taken_for_overrides():
    arguments = ["--info", "defaults", "n=1", "-m", "--shell-completion", "install=bash", "-i", "seeds=1"]
    assert options_last(arguments) == [
        "n=1", "seeds=1", "--info", "defaults", "-m", "--shell-completion", "install=bash", "-i",
    ]  # fmt: skip


def typed(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["fedbayes.run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_an_interpolation_that_leads_nowhere(capsys):
    assert run_composed(OmegaConf.create({"n": "${nope}"}), []) == 2
    assert "'nope' not found" in capsys.readouterr().err


def test_output_that_nobody_reads_costs_nothing(finished):
    folder, _ = finished
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-u", "-m", "fedbayes.run", *SMALL, "output_dir=out"],
        cwd=folder, stdout=writer, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(writer)
    assert ended.returncode == 0 and ended.stderr == b""


def test_an_interruption_before_the_first_cell(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("fedbayes.run._main", interrupt)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_options_of_hydra_may_stand_between_overrides():
    mixed = ["a=1", "--config-dir", "folder", "b=2", "-m", "c=3,4", "--cfg=job"]
    assert options_last(mixed) == ["a=1", "b=2", "c=3,4", "--config-dir", "folder", "-m", "--cfg=job"]


def test_the_recorded_command_names_no_place():
    given = ["+experiment=fedande", "data_dir=/data", "dataset.mine.file='/data/mine.csv'", "-cd", "/conf",
             "--config-dir=/conf", "execution=dask", "execution.address=tcp://login:8786", "hydra.run.dir=/x", "-m"]  # fmt: skip
    kept = ["+experiment=fedande", "dataset.mine.file=mine.csv", "execution=dask", "-m"]
    assert without_places(given) == kept


def test_what_is_recorded_beside_done_rows_is_said_when_it_changes(finished):
    folder, _ = finished
    shutil.copytree(folder / "out", folder / "recorded")
    ended = run(*SMALL, "record_rounds=true", "output_dir=recorded", cwd=folder, check=0)
    assert "record_rounds=True" in ended.stderr and "rerun=all" in ended.stderr
    assert not (folder / "recorded" / "rounds.csv").exists()
    ended = run(*SMALL, "record_rounds=true", "rerun=all", "output_dir=recorded", cwd=folder, check=0)
    assert "record_rounds" not in ended.stderr
    assert (folder / "recorded" / "rounds.csv").exists()
    shutil.rmtree(folder / "recorded")


def test_nothing_that_failed_is_nothing_to_do(tmp_path):
    small = [word for word in SMALL if word != "report=false"]
    ended = run(*small, "rerun=failed", "output_dir=out", cwd=tmp_path, check=0)
    assert "nothing to do" in ended.stdout and not (tmp_path / "out" / "runs.csv").exists()


def test_a_shard_without_a_cell_is_done(finished):
    folder, _ = finished
    ended = run(*SMALL, "report=true", "shard=9/10", "output_dir=empty", cwd=folder, check=0)
    assert "nothing to do" in ended.stdout and ended.stderr == ""


def test_help_lists_every_key_of_an_experiment(tmp_path):
    ended = run("--help", cwd=tmp_path, check=0)
    for key in ("clients", "epsilon", "local_solver", "redraw_min_rows", "data_dir", "shard", "Exit codes"):
        assert key in ended.stdout
