"""Read and write ``manifest.json``, which several processes may share."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbayes.atomic_file import write_atomically
from fedbayes.errors import ConfigurationError
from fedbayes.locking import locked


def read_manifest(folder: Path) -> dict:
    """Read ``manifest.json`` of a results folder; without one, a manifest of no invocations."""
    path = Path(folder) / "manifest.json"
    if not path.exists():
        return {"format": 1, "invocations": []}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(
            f"{path} is not valid JSON ({error}); restore it or choose another folder"
        ) from None
    if not _is_manifest(manifest):
        raise ConfigurationError(
            f"{path} is not a manifest of this package (no list of invocations that name their data sets); "
            "restore it or choose another folder"
        )
    return manifest


def _is_manifest(value: Any) -> bool:
    invocations = value.get("invocations") if isinstance(value, dict) else None
    return isinstance(invocations, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("datasets", {}), dict)
        and all(isinstance(facts, dict) for facts in entry.get("datasets", {}).values())
        for entry in invocations
    )


def dataset_facts(manifest: Mapping[str, Any]) -> dict[str, dict]:
    """What the manifest says of every data set; the latest invocation wins."""
    facts: dict[str, dict] = {}
    for entry in manifest["invocations"]:
        facts.update(entry.get("datasets", {}))
    return facts


def record_invocation(folder: Path, entry: Mapping[str, Any]) -> None:
    """Add an invocation to the manifest, or replace the one with the same ``id``."""
    with locked(folder / "parts" / "merge.lock"):
        manifest = read_manifest(folder)
        kept = [known for known in manifest["invocations"] if known.get("id") != entry["id"]]
        position = len(kept)
        for index, known in enumerate(manifest["invocations"]):
            if known.get("id") == entry["id"]:
                position = index
        kept.insert(position, dict(entry))
        manifest["invocations"] = kept
        content = json.dumps(_standard(manifest), indent=1, allow_nan=False)
        write_atomically(folder / "manifest.json", content + "\n", durable=True)


def _standard(value: Any) -> Any:
    """JSON has no infinity: it stands as the text ``inf``, as in ``runs.csv``."""
    if isinstance(value, Mapping):
        return {key: _standard(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_standard(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
