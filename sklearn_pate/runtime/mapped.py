"""Rows of a mapped file as a reference, so that other processes read them from the file.

A block of a `numpy.memmap` is pickled as its place in the file: its rows pass through no pipe, and
this process does not read them. A reference is made only if the file at the path is the file that
this process has mapped, and the other process compares again. So neither reads another file that
was moved to the same path. A file that is changed in place is not noticed; neither would it be
without references.
"""

from __future__ import annotations

import io
import mmap
import os
from typing import Any, NamedTuple, cast

import cloudpickle
import numpy as np

#: The mappings of this process; the file exists on Linux only.
_MAPPINGS = "/proc/self/maps"

#: Modes of a `numpy.memmap` whose numbers are the numbers of the file.
_SHARED_MODES = ("r", "r+", "w+")


class ReplacedFileError(OSError):
    """Another file was moved to the path of the private rows while they were read."""


class _File(NamedTuple):
    """A file that this process has mapped.

    Attributes
    ----------
    path : str
        Absolute path.
    device, inode : int
        Identity of the file.
    start : int
        Address at which the first byte of the file is, or would be, mapped.
    """

    path: str
    device: int
    inode: int
    start: int


class Packer:
    """Pickle records for other processes of this machine; rows of mapped files become references.

    Examples
    --------
    >>> import pickle, tempfile
    >>> import numpy as np
    >>> from sklearn_pate.runtime.mapped import Packer
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     rows = np.memmap(file.name, float, "w+", shape=(10_000, 3))
    ...     rows[7_000] = 1, 2, 3
    ...     content = Packer().dumps(rows[7_000:])
    ...     pickle.loads(content)[0]
    array([1., 2., 3.])
    """

    def __init__(self) -> None:
        self._files: dict[int, tuple[np.memmap, _File | None]] = {}

    def dumps(self, records: Any) -> bytes:
        """Return records as bytes, which `pickle.loads` reads."""
        with io.BytesIO() as file:
            _Pickler(file, self).dump(records)
            return file.getvalue()

    def file_of(self, rows: np.ndarray) -> _File | None:
        """Return the file that has the numbers of an array; None if there is none."""
        root: Any = rows
        while isinstance(root.base, np.ndarray):
            root = root.base
        is_mapped = isinstance(root, np.memmap) and isinstance(root.base, mmap.mmap)
        if rows.dtype.hasobject or not is_mapped:
            return None
        if id(root) not in self._files:  # the dict keeps the array, so no other array gets its id
            self._files[id(root)] = root, _mapped_file(root)
        return self._files[id(root)][1]


class _Pickler(cloudpickle.Pickler):
    """Pickler of a `Packer`."""

    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        super().__init__(file)
        self._packer = packer

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.ndarray):
            file = self._packer.file_of(obj)
            if file is not None:
                path, device, inode, start = file
                place = obj.__array_interface__["data"][0] - start
                return _read, (path, device, inode, place, obj.shape, obj.strides, obj.dtype)
        return super().reducer_override(obj)


def _mapped_file(root: np.memmap) -> _File | None:
    """Return the file of a memmap if it is still at its path; None if it is not, or unknown."""
    path, mapping = root.filename, cast(Any, root.base)
    if path is None or root.mode not in _SHARED_MODES:
        return None
    first = np.frombuffer(mapping, dtype=np.uint8).__array_interface__["data"][0]
    try:
        with open(_MAPPINGS) as mappings:
            own = next((line for line in mappings if line.startswith(f"{first:x}-")), None)
        at_path = os.stat(path)
    except OSError:
        return None
    if own is None:
        return None
    _, _, offset, device, inode, *_ = own.split()
    expected = f"{os.major(at_path.st_dev):02x}:{os.minor(at_path.st_dev):02x}", at_path.st_ino
    if (device, int(inode)) != expected:
        return None
    return _File(os.fspath(path), at_path.st_dev, at_path.st_ino, first - int(offset, 16))


def _read(
    path: str,
    device: int,
    inode: int,
    place: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype,
) -> np.ndarray:
    """Return a copy of rows in a file."""
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        if (found.st_dev, found.st_ino) != (device, inode):
            raise ReplacedFileError(
                "the file of the private rows was replaced while it was read. Keep it unchanged "
                "during a fit, or give an array in memory"
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            rows = np.ndarray(shape, dtype, mapping, place, strides)
            copied = rows.copy(order="K")
            del rows  # it would keep the mapping open
        return copied
