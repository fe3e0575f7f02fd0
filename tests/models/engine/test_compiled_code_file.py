"""Code compiled for one signature is never found under another, whatever other processes write meanwhile."""

import os
import shutil
import subprocess
import sys

import pytest
from numba import types
from numba.core.caching import IndexDataCacheFile

from fedbayes.models.engine.compiled_code_file import CompiledCodeFile

TWO, FOUR = (((types.UniTuple(types.float64, lanes),), ("cpu",), ("code", "closure")) for lanes in (2, 4))


def code_file(folder, stamp="stamp", base="kernels.add-3.py311"):
    return CompiledCodeFile(IndexDataCacheFile(str(folder), base, "numba's own stamp"), stamp)


def only_file(folder):
    (path,) = folder.glob("*.code")
    return path


def test_processes_that_save_different_signatures_share_no_file(tmp_path):
    one, another = code_file(tmp_path), code_file(tmp_path)
    assert one.load(TWO) is None
    one.save(TWO, "for two")
    another.save(FOUR, "for four")  # without a look at what the first has written
    for reader in (one, another, code_file(tmp_path)):
        assert (reader.load(TWO), reader.load(FOUR)) == ("for two", "for four")
    one.save(TWO, "again")
    assert another.load(TWO) == "again" and len(list(tmp_path.iterdir())) == 2  # and no index


def test_what_a_file_holds_counts_more_than_its_name(tmp_path):
    file = code_file(tmp_path)
    file.save(TWO, "for two")
    of_two = only_file(tmp_path)
    file.save(FOUR, "for four")
    (of_four,) = set(tmp_path.glob("*.code")) - {of_two}
    shutil.copy(of_two, of_four)
    assert file.load(FOUR) is None and file.load(TWO) == "for two"


def test_code_of_another_source_or_numba_is_not_found_and_leaves_its_place(tmp_path):
    old, new = code_file(tmp_path, "old"), code_file(tmp_path, "new")
    old.save(TWO, "old")
    assert new.load(TWO) is None
    new.save(TWO, "new")
    assert (old.load(TWO), new.load(TWO)) == (None, "new") and only_file(tmp_path)
    new._version = "0.0"
    assert new.load(TWO) is None


@pytest.mark.parametrize("left", [0, 1, 20, 40, -1])
def test_a_file_cut_short_counts_as_none(tmp_path, left):
    file = code_file(tmp_path)
    file.save(TWO, "for two" * 99)
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:left])
    assert file.load(TWO) is None
    path.write_bytes(b"\0" * 100)  # a block that a power cut has left unwritten
    assert file.load(TWO) is None


def test_any_changed_byte_makes_a_file_count_as_none(tmp_path):
    file = code_file(tmp_path)
    file.save(TWO, "for two")
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert file.load(TWO) is None
    file.save(TWO, "for two")
    assert path.read_bytes() == whole and file.load(TWO) == "for two"


def test_where_nothing_can_be_kept_nothing_is(tmp_path):
    file = code_file(tmp_path)
    file.save(TWO, "for two")
    path = only_file(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning, match="compiled code cannot be kept"):
        file.save(TWO, "for two")
    assert file.load(TWO) is None and list(tmp_path.iterdir()) == [path]


def test_flush_forgets_one_function(tmp_path):
    file, other = code_file(tmp_path), code_file(tmp_path, base="kernels.multiply-9.py311")
    for each in (file, other):
        each.save(TWO, "for two")
    file.flush()
    assert file.load(TWO) is None and other.load(TWO) == "for two"


PROGRAM = """
import sys
import numpy as np
from fedbayes.models.engine.compilation import compiled

@compiled
def total(values):
    added = 0.0
    for value in values:
        added += value
    return added + 1000 * len(values)

width = int(sys.argv[1])
found = total((0.5,) * width)
assert found == 1000.5 * width, found
print(sum(total.stats.cache_hits.values()))
"""


def test_processes_that_compile_for_different_signatures_at_once(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def hits():
        started = [
            subprocess.Popen(
                [sys.executable, tmp_path / "program.py", str(width)],
                env=environment, stdout=subprocess.PIPE, text=True,
            )
            for width in (2, 3, 4, 5)
        ]  # fmt: skip
        return [process.communicate()[0].strip() for process in started]

    assert hits() == ["0"] * 4
    assert hits() == ["1"] * 4
