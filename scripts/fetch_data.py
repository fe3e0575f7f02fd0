"""Fetch the data sets into a folder, for a machine without network.

    python scripts/fetch_data.py FOLDER [NAME ...]

Copy FOLDER to the other machine and set FEDBAYES_DATA (or data_dir) to it. The sets that are computed from
their rules need no file; the intrusion-detection sets come from their publishers and cannot be fetched
without accepting their terms: for them this script says which files to put where, checks those that are
there (rows, columns, checksums) and converts them once.
"""

import argparse
import functools
import sys
from pathlib import Path

from fedbayes.data import DatasetSpecification, available, load, load_specification
from fedbayes.errors import ConfigurationError, DataError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to put the files; made if it does not exist")
    parser.add_argument("names", nargs="*", help="data sets; default: all that the package describes")
    options = parser.parse_args(arguments)
    missing: list[str] = []
    for name in options.names or available():
        try:
            print(f"{name}: {fetch(load_specification(name), options.folder)}")
        except ConfigurationError as error:
            print(f"fetch_data: {error}", file=sys.stderr)
            return 2
        except (DataError, OSError) as error:
            by_hand = not options.names and load_specification(name).kind == "mixed"
            reason = str(error).removeprefix(f"{name}: ")
            print(f"{name}: {'to be put there by hand: ' if by_hand else ''}{reason}", file=sys.stderr)
            if not by_hand:
                missing.append(name)
    if missing:
        print(f"fetch_data: could not be had: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


def fetch(specification: DatasetSpecification, folder: Path) -> str:
    """Put one data set into the folder and say in a few words what was done."""
    if specification.kind == "mixed":
        from fedbayes.data import intrusion

        return intrusion.obtain(specification, folder)  # or the error that says what to put where
    if specification.rules is not None:
        return "computed from its rules, no file needed"
    return fetch_openml(specification, folder)


@functools.cache
def is_offline() -> bool:
    """Probe OpenML once for all data sets."""
    from fedbayes.data.openml import reachable

    return not reachable()


def fetch_openml(specification: DatasetSpecification, folder: Path) -> str:
    """Write the OpenML data set as an ARFF file, and prove that it loads as the same data."""
    from fedbayes.data.canonical import make_categorical
    from fedbayes.data.files.arff_writer import write_arff
    from fedbayes.data.openml import fetch

    table, target, source = fetch(specification, offline=is_offline)
    dataset = make_categorical(table, specification, source=source, target=target)
    path = folder / f"{specification.name}.arff.gz"
    write_arff(path, table, specification.name)
    if load(specification, data_dir=folder).fingerprint != dataset.fingerprint:
        path.unlink()
        raise DataError(f"{path}: does not read back as what was fetched")
    return f"{path} ({len(dataset.y)} rows)"


if __name__ == "__main__":
    sys.exit(main())
