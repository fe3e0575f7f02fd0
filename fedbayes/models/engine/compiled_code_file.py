"""Where compiled code is kept: one file for each function and signature, so that processes share a folder safely."""

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile


class CompiledCodeFile(IndexDataCacheFile):
    """Files of one function's compiled code, each named for what it was compiled for.

    Numba's own class numbers the files and keeps the numbers in an index. Two processes that compile one function for
    different signatures at the same time can both take the same number; the code of one is then found under the
    signature of the other, and runs. Here nothing is shared between signatures, and what a file holds is checked.

    Parameters
    ----------
    file : IndexDataCacheFile
        Numba's, of the function.
    stamp : str
        Changes with the source; code of another stamp is not found.
    """

    def __init__(self, file: IndexDataCacheFile, stamp: str):
        super().__init__(file._cache_path, Path(file._index_name).stem, stamp)

    def _of(self, key: tuple) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return Path(self._cache_path) / f"{Path(self._index_name).stem}.{name}.code"

    def save(self, key: tuple, data: Any) -> None:
        """Keep ``data`` for ``key``, in place of what an older source left there."""
        with self._open_for_write(str(self._of(key))) as stream:
            pickle.dump(self._version, stream)
            stream.write(self._dump((self._source_stamp, key)))
            stream.write(self._dump(data))

    def load(self, key: tuple) -> Any | None:
        """What is kept for ``key``, or None; a damaged file counts as none."""
        try:
            with self._of(key).open("rb") as stream:
                if pickle.load(stream) != self._version:  # whose other content may not be readable
                    return None
                if pickle.load(stream) != (self._source_stamp, key):
                    return None
                return pickle.load(stream)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def flush(self) -> None:
        """Forget everything kept for the function."""
        for path in Path(self._cache_path).glob(f"{Path(self._index_name).stem}.*.code"):
            path.unlink(missing_ok=True)
