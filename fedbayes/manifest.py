"""``manifest.json``: what was run, with which data and packages, once per invocation."""

import os
import platform
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbayes.command_line import without_places
from fedbayes.config import RunOptions, usable_cores
from fedbayes.errors import ConfigurationError
from fedbayes.grid import RESULTS_VERSION
from fedbayes.manifest_file import read_manifest

PACKAGES = (
    "fedbayes", "numpy", "scipy", "pandas", "scikit-learn", "numba", "joblib", "hydra-core", "omegaconf", "openml",
    "statsmodels", "matplotlib",
)  # fmt: skip


def data_variant(options: Mapping[str, Any]) -> str:
    """The options that change a data set's content, as they stand in the manifest."""
    return ";".join(f"{name}={value}" for name, value in options.items())


def check_fingerprints(folder: Path, datasets: Mapping[str, Any], variants: Mapping[str, str]) -> None:
    """Stop when a data set differs from the one that the folder's results were computed on.

    Raises
    ------
    ConfigurationError
        Naming the data set and both fingerprints.
    """
    for entry in read_manifest(folder)["invocations"]:
        for name, before in entry.get("datasets", {}).items():
            dataset = datasets.get(name)
            if dataset is None or before.get("variant") != variants[name]:
                continue
            fingerprint = str(before.get("fingerprint"))
            if fingerprint != dataset.fingerprint:
                raise ConfigurationError(
                    f"data set {name!r} is not the one that {folder} was computed on (fingerprint "
                    f"{dataset.fingerprint[:12]} from {dataset.source}, before {fingerprint[:12]} from "
                    f"{before.get('source')}); choose another output_dir or restore the data"
                )


def recorded_otherwise(folder: Path, mapping: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Say which of the keys, that change no row but what is written beside it, had other values in the last run."""
    configurations = [entry.get("configuration", {}) for entry in read_manifest(folder)["invocations"]]
    notes = []
    for key in keys:
        before = [configuration[key] for configuration in configurations if key in configuration]
        if before and before[-1] != mapping[key]:
            notes.append(
                f"{key}={mapping[key]} holds for rows computed from now on; those done before are as "
                f"{key}={before[-1]} had them recorded (rerun=all computes them anew)"
            )
    return notes


def invocation(
    mapping: Mapping[str, Any],
    options: RunOptions,
    module: ModuleType,
    variants: Mapping[str, str],
    datasets: Mapping[str, Any],
    arguments: Sequence[str],
) -> dict[str, Any]:
    """Describe an invocation at its start. Paths and hosts are left out."""
    configuration = {key: value for key, value in mapping.items() if key not in ("data_dir", "output_dir")}
    configuration |= {"dataset": list(mapping["dataset"]), "execution": {"name": options.execution.name}}
    return {
        "id": uuid.uuid4().hex[:12],
        "experiment": module.NAME,
        "name": options.name,
        "results_version": RESULTS_VERSION,
        "command": " ".join(["python -m fedbayes.run", *without_places(arguments)]),
        "started": _now(),
        "finished": None,
        "exit_code": None,
        "cores": min(options.jobs, usable_cores()),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "git_commit": _git_commit(),
        "configuration": configuration,
        "datasets": {
            name: {
                "title": dataset.title,
                "fingerprint": dataset.fingerprint,
                "variant": variants[name],
                "complete": dataset.complete,
                "source": dataset.source,
                "rows": len(dataset.y),
                "attributes": _attributes(dataset),
                "classes": len(dataset.class_names),
                "notes": list(dataset.notes),
            }
            for name, dataset in datasets.items()
        },
    }  # fmt: skip


def ending(exit_code: int) -> dict[str, Any]:
    """The fields that are known at the end."""
    return {"finished": _now(), "exit_code": exit_code}


def _attributes(dataset: Any) -> int:
    if hasattr(dataset, "X"):
        return dataset.X.shape[1]
    return dataset.X_categorical.shape[1] + dataset.X_numeric.shape[1]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git_commit() -> str | None:
    """Commit of the checkout that the package runs from, if it is one."""
    folder = Path(__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=folder, capture_output=True, text=True, timeout=5, env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None
