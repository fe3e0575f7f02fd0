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
    """Name of the array that an expression is, or is a view of; None for whatever makes a new one."""
    while not isinstance(node, ast.Name):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "reshape"
        ):
            node = node.func.value
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return None
    return node.id


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""


def unsafe_pointers(source):
    """(function, line) of pointers to arrays that may be gone when the pointer is used.

    The caller keeps the arrays among a function's parameters, unless numba writes the function into its callers. An
    array that a function makes lives until the last line that names it: its pointer must not be kept under a name,
    and it must be used inside a loop that the array was made before.
    """
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            inlined = any("always" in ast.unparse(decorator) for decorator in function.decorator_list)
            kept = set() if inlined else {argument.arg for argument in function.args.args}
            found += [(function.name, line) for line in _unsafe_lines(function, kept)]
    return found


def _unsafe_lines(function, kept):
    made, lines = {}, []

    def visit(node, loops, named):
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in getattr(target, "elts", [target])]
            values = getattr(node.value, "elts", [node.value])
            values = values if len(values) == len(targets) else [ast.Constant(None)] * len(targets)
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name) and base(value) in kept:
                    kept.add(target.id)
                elif isinstance(target, ast.Name):
                    made.setdefault(target.id, made.get(base(value), loops))
        if called(node) == "pointer":
            name = base(node.args[0])
            if name not in kept and (named or name not in made or loops == made[name]):
                lines.append(node.lineno)
        for child in ast.iter_child_nodes(node):
            keeps = named or isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.Return)
            # what an operation returns is a number, but for the one that moves a pointer
            keeps = keeps and not (
                isinstance(child, ast.Call) and called(child) not in ("pointer", "advance")
            )
            visit(child, (*loops, node) if isinstance(node, LOOPS) else loops, keeps)

    visit(function, (), False)
    return lines


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_pointers_are_to_arrays_that_live(path):
    assert unsafe_pointers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("a = np.empty(n)\n    p = pointer(a)\n    for i in range(n):\n        p[i] = 0.0", [3]),
        ("a = np.empty(n)\n    for i in range(n):\n        use(va.pointer(a), i)", []),
        ("a, b = np.empty(n), n\n    use(va.pointer(a[b:]))", [3]),
        ("a = np.zeros(n).reshape(-1)\n    b = a[1:]\n    use(va.pointer(b))", [4]),
        ("for i in range(n):\n        a = np.empty(n)\n        use(va.pointer(a))", [4]),
        (
            "a = np.empty(n)\n    for i in range(n):\n        p = va.advance(va.pointer(a), i)\n    use(p)",
            [4],
        ),
        ("a = np.empty(n)\n    for i in range(n):\n        p = va.dot(va.pointer(a), i)\n    use(p)", []),
        ("use(va.pointer(np.empty(n)))", [2]),
        ("a, b = make(n)\n    use(va.pointer(a))", [3]),
        ("a = n.copy()\n    use(va.pointer(a))", [3]),
        ("a = n + 1.0\n    use(va.pointer(a))", [3]),
        ("a = n[1:].reshape(-1)\n    p = va.pointer(a)\n    use(p)", []),
        ("use(va.pointer(n[2:]))", []),
    ],
)
def test_the_rule_itself(body, lines):
    source = f"def f(n):\n    {body}\n"
    assert unsafe_pointers(source) == [("f", line) for line in lines]


def test_parameters_of_inlined_functions_are_arrays_of_their_callers():
    source = "@compiled(inline='always')\ndef f(n):\n    use(va.pointer(n))\n"
    assert unsafe_pointers(source) == [("f", 3)]


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
