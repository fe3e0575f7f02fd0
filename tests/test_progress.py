"""What a run says of its progress where there is no terminal."""

from fedbayes import progress
from fedbayes.grid import Task


def test_the_time_left_is_estimated_from_tasks_that_did_not_wait_for_the_compiler(monkeypatch, capsys):
    clock = iter(
        [0, 900, 900, 1000, 1100]
    )  # minutes: start; two first tasks with the compiler; two later ones
    monkeypatch.setattr(progress.time, "monotonic", lambda: 60.0 * next(clock))
    tasks = [Task("toy", "data", (), (), None, cost=1.0, label=str(i)) for i in range(6)]
    with progress.Progress(tasks, workers=2) as shown:
        for task in tasks[:4]:
            shown.advance(task)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("; last: ")[0] for line in lines] == [
        "fedbayes: 1/6 tasks, 900 min elapsed",
        "fedbayes: 3/6 tasks, 1000 min elapsed, about 300 min left",
        "fedbayes: 4/6 tasks, 1100 min elapsed, about 200 min left",
    ]
