"""Where compiled code is kept: one file for each function and signature, so that processes share a folder safely."""

import hashlib
import io
import pickle
import warnings
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

DIGEST_SIZE = hashlib.sha256().digest_size


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
        """Keep ``data`` for ``key``, in place of what an older source left there; where that fails, warn."""
        content = pickle.dumps(self._version) + self._dump((self._source_stamp, key)) + self._dump(data)
        try:
            with self._open_for_write(str(self._of(key))) as stream:
                stream.write(hashlib.sha256(content).digest() + content)
        except OSError as error:
            warnings.warn(
                f"compiled code cannot be kept ({error.strerror}): every process compiles it anew; set NUMBA_CACHE_DIR to "
                "a folder with room",
                RuntimeWarning,
                stacklevel=2,
            )

    def load(self, key: tuple) -> Any | None:
        """What is kept for ``key``, or None; a damaged file counts as none."""
        try:
            found = self._of(key).read_bytes()
        except OSError:
            return None
        digest, content = found[:DIGEST_SIZE], io.BytesIO(found[DIGEST_SIZE:])
        if hashlib.sha256(content.getbuffer()).digest() != digest:
            return None
        if pickle.load(content) != self._version:  # whose other content may not be readable
            return None
        if pickle.load(content) != (self._source_stamp, key):
            return None
        return pickle.load(content)

    def flush(self) -> None:
        """Forget everything kept for the function."""
        for path in Path(self._cache_path).glob(f"{Path(self._index_name).stem}.*.code"):
            path.unlink(missing_ok=True)
