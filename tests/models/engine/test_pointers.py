"""No compiled function uses memory of an array that it has already given back."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fedbayes.models import engine

MODULES = sorted(Path(engine.__file__).parent.glob("*.py"))
LOOPS = (ast.For, ast.While)


def base(node):
    """Name of the array that an expression is (part of), or None."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # array.reshape(...)
            node = node.func.value
        else:
            return None
    return node.id


def unsafe_pointers(source):
    """(function, line) of pointers to arrays made in a function, outside every loop that keeps them alive.

    An array lives until the last line that names it, and through a loop that names it and that it was made before.
    """
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        made, uses = {}, []

        def visit(node, loops, made=made, uses=uses):
            if isinstance(node, ast.Assign):
                targets = [t for target in node.targets for t in getattr(target, "elts", [target])]
                values = getattr(node.value, "elts", [node.value] * len(targets))
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name) and (base(value) == "np" or base(value) in made):
                        made.setdefault(target.id, made.get(base(value), loops))
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", getattr(node.func, "id", "")) == "pointer"
            ):
                uses.append((base(node.args[0]), node.lineno, loops))
            for child in ast.iter_child_nodes(node):
                visit(child, (*loops, node) if isinstance(node, LOOPS) else loops)

        visit(function, ())
        found += [(function.name, line) for name, line, loops in uses if name in made and loops == made[name]]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_pointers_are_to_arrays_that_live(path):
    assert unsafe_pointers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("a = np.empty(n)\n    p = pointer(a)\n    for i in range(n):\n        p[i] = 0.0", [3]),
        ("a = np.empty(n)\n    for i in range(n):\n        va.pointer(a)[i] = 0.0", []),
        ("a, b = np.empty(n), n\n    use(va.pointer(a[b:]))", [3]),
        ("a = np.zeros(n).reshape(-1)\n    b = a[1:]\n    use(va.pointer(b))", [4]),
        ("for i in range(n):\n        a = np.empty(n)\n        use(va.pointer(a))", [4]),
        ("use(va.pointer(n[2:]))", []),
    ],
)
def test_the_rule_itself(body, lines):
    source = f"def f(n):\n    {body}\n"
    assert unsafe_pointers(source) == [("f", line) for line in lines]


PROGRAM = """
import numpy as np
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.scoring import add_posteriors, prepare_rows, sort_rows

wide, rows = 2**21 + 2**18, 50_000
cardinalities = [wide] + [2] * 60
rng = np.random.default_rng(0)
X = np.column_stack([rng.integers(0, wide, rows), rng.integers(0, 2, (rows, 60))]).astype(np.int32)
structure, prepared = make_structure((), cardinalities, 2), prepare_rows(X, cardinalities)
_, starts, order = sort_rows(prepared, structure)
theta = np.log(rng.random((1, structure.values, structure.lanes)))
out = np.zeros((rows, 2))
add_posteriors(prepared, structure, starts, order, np.zeros((1, structure.lanes)), theta, out)
scores = sum(theta[0, offset + X[:, j]] for j, offset in enumerate(structure.offsets))
expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
print(np.abs(out - expected[:, :2]).max() < 1e-12)
"""


def test_a_table_so_large_that_its_memory_is_given_back_to_the_system():
    # what is given back at once is no longer there: using it would end the process
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
