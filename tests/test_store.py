"""Result files survive kills, torn lines and company."""

import csv
import math
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from fedbayes.errors import ConfigurationError
from fedbayes.manifest_file import dataset_facts, read_manifest, record_invocation
from fedbayes.result_frames import read_runs
from fedbayes.store import ResultStore, Table

RUNS = Table("runs", ("cell", "fold", "epsilon", "status", "message"), ("cell", "fold"), ("cell", "fold"))


def row(cell, fold, status="done", epsilon=None, message=""):
    return {"cell": cell, "fold": fold, "epsilon": epsilon, "status": status, "message": message}


def lines(folder):
    with (folder / "runs.csv").open(newline="") as stream:
        return list(csv.reader(stream))


def test_a_folder_of_somebody_else_is_refused_before_anything_runs(tmp_path, monkeypatch):
    ResultStore(tmp_path, [RUNS])

    def refuse(dir):  # a test that runs as root can write anywhere
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(ConfigurationError, match=r"output_dir=.* cannot be written \(Permission denied\)"):
        ResultStore(tmp_path, [RUNS])
    ResultStore(tmp_path, [RUNS], create=False)  # reading it is allowed


def test_rows_are_sorted_numerically_and_floats_kept(tmp_path):
    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("b", 10, epsilon=math.inf), row("b", 9, epsilon=0.1), row("a", 0)])
    store.merge(close=True)
    assert lines(tmp_path)[1:] == [
        ["a", "0", "", "done", ""], ["b", "9", "0.1", "done", ""], ["b", "10", "inf", "done", ""],
    ]  # fmt: skip
    frame = read_runs(tmp_path)
    assert frame["epsilon"].iloc[1] == 0.1 and frame["epsilon"].iloc[2] == math.inf
    assert frame["message"].tolist() == ["", "", ""]
    assert os.listdir(tmp_path / "parts") == ["merge.lock"]


def test_a_done_row_replaces_a_failed_one_and_never_the_other_way(tmp_path):
    for status in ("failed", "done", "failed"):
        store = ResultStore(tmp_path, [RUNS])
        store.append("runs", [row("a", 0, status, message=status)])
        store.merge(close=True)
    assert [entry[3:] for entry in lines(tmp_path)[1:]] == [["done", "done"]]


def test_messages_stay_on_one_line_and_commas_and_quotes_survive(tmp_path):
    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("a", 0, "failed", message='one\ntwo, "three"')])
    store.merge(close=True)
    assert lines(tmp_path)[1][4] == 'one two, "three"'


@pytest.mark.parametrize(
    "torn", [b"b,1,,do", b"b,1,,done", b'b,1,,done,"x', b"\x00\x00\x00", b"b,1\n", b"b,1,,dne,\n"]
)
def test_torn_or_damaged_lines_are_dropped(tmp_path, torn):
    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("a", 0)])
    part = next((tmp_path / "parts").glob("runs-*.csv"))
    store._parts["runs"].close()
    store._parts.clear()
    with part.open("ab") as stream:
        stream.write(torn)
    again = ResultStore(tmp_path, [RUNS])
    again.merge()
    assert [entry[0] for entry in lines(tmp_path)] == ["cell", "a"]
    assert again.statuses() == {("a", "0"): "done"}


def test_parts_of_a_living_process_are_merged_but_not_removed(tmp_path):
    first, second = ResultStore(tmp_path, [RUNS]), ResultStore(tmp_path, [RUNS])
    first.append("runs", [row("a", 0)])
    second.append("runs", [row("b", 0)])
    second.merge(close=True)
    assert len(list((tmp_path / "parts").glob("runs-*.csv"))) == 1
    first.append("runs", [row("a", 1)])
    first.merge(close=True)
    assert [entry[:2] for entry in lines(tmp_path)[1:]] == [["a", "0"], ["a", "1"], ["b", "0"]]


def test_a_killed_writer_loses_nothing_it_appended(tmp_path):
    program = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from fedbayes.store import ResultStore, Table
        runs = Table("runs", ("cell", "fold", "epsilon", "status", "message"), ("cell", "fold"), ("cell", "fold"))
        store = ResultStore(Path(sys.argv[1]), [runs])
        for fold in range(50):
            store.append("runs", [{"cell": "a", "fold": fold, "status": "done"}])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)])
    assert ended.returncode == -signal.SIGKILL
    store = ResultStore(tmp_path, [RUNS])
    store.merge()
    assert len(store.statuses()) == 50
    assert not list((tmp_path / "parts").glob("runs-*.csv"))


def test_many_processes_write_into_one_folder(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from fedbayes.store import ResultStore, Table
        runs = Table("runs", ("cell", "fold", "epsilon", "status", "message"), ("cell", "fold"), ("cell", "fold"))
        store = ResultStore(Path(sys.argv[1]), [runs])
        for fold in range(40):
            store.append("runs", [{"cell": sys.argv[2], "fold": fold, "status": "done"}])
            if fold % 10 == 0:
                store.merge()
        store.merge(close=True)
        """
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abcd"]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert len(lines(tmp_path)) == 1 + 4 * 40


def test_results_of_another_experiment_are_refused(tmp_path):
    (tmp_path / "runs.csv").write_text("cell,alpha\n")
    with pytest.raises(ConfigurationError, match="other columns.*'alpha' where 'fold'"):
        ResultStore(tmp_path, [RUNS])


def test_full_disk_leaves_the_final_file_whole(tmp_path, monkeypatch):
    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("a", 0)])
    store.merge()
    before = (tmp_path / "runs.csv").read_bytes()
    store.append("runs", [row("b", 0)])
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        store.merge()
    monkeypatch.undo()
    assert (tmp_path / "runs.csv").read_bytes() == before
    assert not list(tmp_path.glob(".*tmp"))
    store.merge(close=True)
    assert len(lines(tmp_path)) == 3


def test_manifest_keeps_one_entry_per_invocation_and_the_latest_facts(tmp_path):
    ResultStore(tmp_path, [RUNS])
    record_invocation(tmp_path, {"id": "1", "datasets": {"car": {"rows": 1}}, "exit_code": None})
    record_invocation(
        tmp_path,
        {"id": "2", "datasets": {"car": {"rows": 2}}, "configuration": {"epsilon": [1.0, float("inf")]}},
    )
    assert "Infinity" not in (tmp_path / "manifest.json").read_text()  # which is no JSON
    record_invocation(tmp_path, {"id": "1", "datasets": {"car": {"rows": 1}}, "exit_code": 0})
    manifest = read_manifest(tmp_path)
    assert [entry["id"] for entry in manifest["invocations"]] == ["1", "2"]
    assert manifest["invocations"][0]["exit_code"] == 0
    assert dataset_facts(manifest) == {"car": {"rows": 2}}


def test_statuses_count_what_a_killed_process_left_and_change_nothing(tmp_path):
    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("a", 0)])
    store.merge(close=True)
    (tmp_path / "parts" / "runs-1-left.csv").write_bytes(b"b,0,,done,\nb,1,,do")
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    statuses = ResultStore(tmp_path, [RUNS], create=False).statuses()
    assert statuses == {("a", "0"): "done", ("b", "0"): "done"}
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("damage", [b"", b'"b,0', b"b\xff,0,,done,\n", b"b,0,,dnoe,\n", b"b\0,0,,done,\n"])
def test_damage_in_the_final_file_costs_the_damaged_rows_alone(tmp_path, damage):
    header = ",".join(RUNS.columns).encode() + b"\n"
    (tmp_path / "runs.csv").write_bytes(header + b"a,0,,done,\n" + damage if damage else b"")
    store = ResultStore(tmp_path, [RUNS])
    assert store.statuses() == ({("a", "0"): "done"} if damage else {})
    store.append("runs", [row("b", 0)])
    store.merge(close=True)
    assert [entry[0] for entry in lines(tmp_path)] == (["cell", "a", "b"] if damage else ["cell", "b"])


@pytest.mark.parametrize("damage", [b"\0\0\0", b'"b,0', b"b\xff,0,,done,\n", b"a,0,,done,\n"])
def test_a_damaged_final_file_is_mended_though_nothing_is_to_do(tmp_path, damage):
    whole = ",".join(RUNS.columns).encode() + b"\na,0,,done,\n"
    (tmp_path / "runs.csv").write_bytes(whole + damage)
    ResultStore(tmp_path, [RUNS]).merge()
    assert (tmp_path / "runs.csv").read_bytes() == whole
    before = (tmp_path / "runs.csv").stat().st_mtime_ns
    ResultStore(tmp_path, [RUNS]).merge()
    assert (tmp_path / "runs.csv").stat().st_mtime_ns == before


def test_a_header_that_is_no_text(tmp_path):
    (tmp_path / "runs.csv").write_bytes(b"\xff\xfe,fold\n")
    with pytest.raises(ConfigurationError, match="other columns"):
        ResultStore(tmp_path, [RUNS])


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "null", '{"invocations": 5}', '{"invocations": [1]}',
                '{"invocations": [{"datasets": 1}]}', '{"invocations": [{"datasets": {"car": 1}}]}']
)  # fmt: skip
def test_a_manifest_that_is_none(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ConfigurationError, match="manifest.json"):
        read_manifest(tmp_path)


def test_statuses_are_the_same_read_fast_or_line_by_line(tmp_path):
    from fedbayes.statuses import read_statuses

    store = ResultStore(tmp_path, [RUNS])
    store.append("runs", [row("a", 0), row("a", 1, "failed", message='x, "y"'), row("b", 1), row("b", 0)])
    store.append("runs", [row("c", 0), row("c", 1), row("d", 0, "skipped")])
    store.merge(close=True)
    expected = {
        ("a", "0"): "done", ("a", "1"): "failed", ("b", "0"): "done", ("b", "1"): "done", ("c", "0"): "done",
        ("c", "1"): "done", ("d", "0"): "skipped",
    }  # fmt: skip
    statuses = store.statuses()
    assert dict(statuses) == expected and len(statuses) == 7
    assert statuses.of("b") is statuses.of("c")  # equal states are held once
    assert statuses.of("z") == {} and statuses.get(("z", "0")) is None
    path = tmp_path / "runs.csv"
    whole = path.read_bytes()
    for damage in (b"\x00\x00\n", b"e,0,,dne,\n", b"e,0\n", "e,0,,done,\xff\n".encode("latin-1"), b"e,0,,do"):
        path.write_bytes(whole + damage)
        assert dict(store.statuses()) == expected
    path.write_bytes(whole)
    assert read_statuses(path, RUNS.key, ("done",)).of("a") == {"0": "done"}
    # a part file of another process that is not merged yet
    other = ResultStore(tmp_path, [RUNS])
    other.append("runs", [row("a", 1), row("c", 0, "failed"), row("e", 0)])
    assert dict(store.statuses()) == expected | {("a", "1"): "done", ("e", "0"): "done"}
    path.write_text(whole.decode().splitlines()[0] + "\n")
    other.merge(close=True)
    assert dict(store.statuses()) == {("a", "1"): "done", ("c", "0"): "failed", ("e", "0"): "done"}
