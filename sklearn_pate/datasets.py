"""Fetchers for three data sets of the private learning literature: Adult, Diabetes 130-US, MNIST.

Each fetcher reads the original files if it finds them below `data_home`, or below the folder of the
environment variable SKLEARN_PATE_DATA. Otherwise it downloads from OpenML through scikit-learn.
Both sources give the same columns, types and levels. Targets are integers that index
`target_names`, as in scikit-learn's own loaders.
"""

import gzip
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

__all__ = ["fetch_adult", "fetch_diabetes130", "fetch_mnist"]

#: Parts of the official split in each subset.
_PARTS = {"all": ("train", "test"), "train": ("train",), "test": ("test",)}

# Levels are from UCI's adult.names, not from the rows. So train and test have the same codes, and
# the list of levels does not depend on private data.
_ADULT_SCHEMA = """\
age: continuous
workclass: Federal-gov, Local-gov, Never-worked, Private, Self-emp-inc, Self-emp-not-inc, \
State-gov, Without-pay
fnlwgt: continuous
education: Preschool, 1st-4th, 5th-6th, 7th-8th, 9th, 10th, 11th, 12th, HS-grad, Some-college, \
Assoc-voc, Assoc-acdm, Bachelors, Masters, Prof-school, Doctorate
education-num: continuous
marital-status: Divorced, Married-AF-spouse, Married-civ-spouse, Married-spouse-absent, \
Never-married, Separated, Widowed
occupation: Adm-clerical, Armed-Forces, Craft-repair, Exec-managerial, Farming-fishing, \
Handlers-cleaners, Machine-op-inspct, Other-service, Priv-house-serv, Prof-specialty, \
Protective-serv, Sales, Tech-support, Transport-moving
relationship: Husband, Not-in-family, Other-relative, Own-child, Unmarried, Wife
race: Amer-Indian-Eskimo, Asian-Pac-Islander, Black, Other, White
sex: Female, Male
capital-gain: continuous
capital-loss: continuous
hours-per-week: continuous
native-country: Cambodia, Canada, China, Columbia, Cuba, Dominican-Republic, Ecuador, El-Salvador, \
England, France, Germany, Greece, Guatemala, Haiti, Holand-Netherlands, Honduras, Hong, Hungary, \
India, Iran, Ireland, Italy, Jamaica, Japan, Laos, Mexico, Nicaragua, Outlying-US(Guam-USVI-etc), \
Peru, Philippines, Poland, Portugal, Puerto-Rico, Scotland, South, Taiwan, Thailand, \
Trinadad&Tobago, United-States, Vietnam, Yugoslavia"""
_ADULT_LEVELS = {
    name: None if levels == "continuous" else levels.split(", ")
    for name, levels in (line.split(": ") for line in _ADULT_SCHEMA.splitlines())
}
_ADULT_LABELS = {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1}  # adult.test ends labels in a dot
_DIABETES_LABELS = {"NO": 0, ">30": 0, "<30": 1}
_DIABETES_COUNTS = ("time_in_hospital", "num_", "number_")
_DIABETES_CODES = ("admission_type_id", "discharge_disposition_id", "admission_source_id")
_MNIST_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def _parts_of(subset: str) -> tuple[str, ...]:
    if subset not in list(_PARTS):
        raise ValueError(f"subset must be one of {list(_PARTS)}, got {subset!r}.")
    return _PARTS[subset]


def _find_or_download(
    requested: Any, folder: str, name: str, version: int, data_home: str | PathLike[str] | None
) -> tuple[list[Path], Any]:
    """Return local paths, one for each list of alternative names, and the table from OpenML.

    The table is None if all files are found. Otherwise the list of paths is empty.
    """
    if not isinstance(data_home, str | os.PathLike | None):
        raise TypeError(f"data_home must be a folder's path or None, got {data_home!r}.")
    roots = [root for root in (data_home, os.environ.get("SKLEARN_PATE_DATA")) if root]
    places = [Path(root).expanduser() / below for root in roots for below in ("", folder)]
    for place in places:
        local = [
            [place / name for name in names if (place / name).is_file()] for names in requested
        ]
        if all(local):
            return [paths[0] for paths in local], None
    try:
        table = fetch_openml(name, version=version, data_home=data_home, as_frame=True)
    except OSError as exc:
        files = ", ".join(" or ".join(names) for names in requested)
        looked_in = ", ".join(map(str, places)) or "no folder, because none was given"
        raise FileNotFoundError(
            f"No folder has all files of {name!r}, and the download from OpenML failed ({exc}). "
            f"Required: {files}. Searched: {looked_in}. Put the files into one folder, or into its "
            f"subfolder {folder!r}, and pass this folder as data_home or set SKLEARN_PATE_DATA to "
            "it"
        ) from exc
    return [], table.frame


@contextmanager
def _naming_source(source: Any) -> Iterator[None]:
    """Convert errors from damaged content to a ValueError that names its source."""
    damage = (ValueError, KeyError, EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile)
    try:
        yield
    except damage as exc:
        raise ValueError(f"{source} is damaged or not the expected file: {exc}") from exc


def _read_csv(source: Any, **options: Any) -> pd.DataFrame:
    # As text, because "None" is a level in Diabetes 130-US, and diagnoses 250 and 250.00 differ
    return pd.read_csv(source, dtype=str, keep_default_na=False, **options)


def _integers(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values.astype(object))
    whole = numbers.astype("int64")
    if (whole != numbers).any():
        raise ValueError(f"a fraction in column {values.name!r}")
    return whole


def _categorical(values: pd.Series, levels: Sequence[str] | None = None) -> pd.Series:
    """Return a categorical column; if `levels` is None, its levels are the values that occur."""
    values = values.astype(object)
    values = values.where(values != "?")
    seen = values.dropna().unique()
    if levels is None:
        levels = sorted(seen)
    unknown = sorted(set(seen).difference(levels))
    if unknown:
        raise ValueError(f"unknown value {unknown[0]!r} in column {values.name!r}")
    return pd.Series(pd.Categorical(values, categories=levels), index=values.index)


def _labels(values: pd.Series, codes: dict[str, int], name: str) -> pd.Series:
    labels = values.astype(object).map(codes)
    if labels.empty:
        raise ValueError("no rows")
    if labels.isna().any():
        raise ValueError(f"unknown label {values[labels.isna()].iloc[0]!r}")
    return labels.astype("int64").rename(name)


def _bunch(X: Any, y: Any, as_frame: bool, return_X_y: bool, **rest: Any) -> Any:
    data, target, frame = X, y, None
    if as_frame:
        frame = pd.concat([X, y], axis=1)
    else:
        codes = {name: column.cat.codes for name, column in X.select_dtypes("category").items()}
        data = np.array(X.assign(**codes), dtype=float if codes else None, order="C")
        target = y.to_numpy(copy=True)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, frame=frame, feature_names=list(X.columns), **rest)


def _adult(raw: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    columns = {
        name: _categorical(raw[name], levels) if levels else _integers(raw[name])
        for name, levels in _ADULT_LEVELS.items()
    }
    return pd.DataFrame(columns), _labels(raw["class"], _ADULT_LABELS, "class")


def _read_adult(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    names = [*_ADULT_LEVELS, "class"]
    with _naming_source(path):  # adult.test of UCI starts with the line "|1x3 Cross validator"
        return _adult(_read_csv(path, names=names, skipinitialspace=True, comment="|"))


def _cut_openml_adult(raw: pd.DataFrame, parts: Sequence[str]) -> list[Any]:
    with _naming_source("OpenML's adult, version 2"):
        # The survey weight of the first row of each file identifies the blocks
        if len(raw) != 48_842 or list(raw["fnlwgt"].iloc[[0, 16_281]]) != [226_802, 77_516]:
            raise ValueError("not the 16,281 rows of adult.test, then the 32,561 of adult.data")
        blocks = {"train": raw.iloc[16_281:], "test": raw.iloc[:16_281]}
        return [_adult(blocks[part]) for part in parts]


def fetch_adult(
    *,
    data_home: str | PathLike[str] | None = None,
    subset: Literal["all", "train", "test"] = "all",
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Adult data set (classification of incomes above 50,000 dollars a year).

    The rows are persons of the US census of 1994.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder that contains, itself or in its subfolder `adult`, the files `adult.data` and
        `adult.test` that `subset` needs. The next candidate is the folder of the environment
        variable SKLEARN_PATE_DATA. Without files, OpenML's "adult", version 2, is downloaded, with
        `data_home` as the cache of :func:`~sklearn.datasets.fetch_openml`.
    subset : {"all", "train", "test"}, default="all"
        UCI's split: "train" has 32,561 rows, "test" has 16,281 rows, and "all" has the training
        rows first. OpenML has one table with the test rows first; its size and the first row of
        each block are checked before it is split.
    as_frame : bool, default=True
        Whether to return pandas objects. If False, `data` is a float array in which a categorical
        column holds the position of the level among its categories, and -1 for missing values.
    return_X_y : bool, default=False
        Whether to return only `(data, target)`.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch` or tuple (data, target)
        data : DataFrame or float64 array of shape (n_samples, 14)
            Six int64 columns and eight categorical ones; the levels do not depend on `subset`.
            "?" (in workclass, occupation, native-country) is a missing value, NaN. Ages are in
            years, capital gains and losses in dollars, and `fnlwgt` is a survey weight.
        target : int64 Series "class" or array of shape (n_samples,)
            0 is "<=50K", 1 is ">50K" (23.9 % of all rows).
        frame : DataFrame of shape (n_samples, 15), or None
            Data and target; None if `as_frame` is False.
        feature_names, target_names : list of str
        DESCR : str

    Raises
    ------
    ValueError
        If `subset` is unknown, or a file or OpenML's table is damaged or not as expected.
    FileNotFoundError
        If there are no files and the download fails. The message lists the files and folders.
    TypeError
        If `data_home` is not a path or None.

    References
    ----------
    B. Becker and R. Kohavi (1996). Adult. UCI Machine Learning Repository, CC BY 4.0,
    https://doi.org/10.24432/C5XW20.

    Examples
    --------
    >>> from sklearn_pate.datasets import fetch_adult
    >>> X, y = fetch_adult(subset="train", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (32561, 14)
    """
    parts = _parts_of(subset)
    requested = [["adult.data" if part == "train" else "adult.test"] for part in parts]
    paths, raw = _find_or_download(requested, "adult", "adult", 2, data_home)
    tables = map(_read_adult, paths) if raw is None else _cut_openml_adult(raw, parts)
    X, y = (pd.concat(columns, ignore_index=True) for columns in zip(*tables, strict=True))
    about = "Adult (UCI): income above 50,000 dollars a year. Becker and Kohavi (1996), CC BY 4.0."
    return _bunch(X, y, as_frame, return_X_y, target_names=["<=50K", ">50K"], DESCR=about)


def _diabetes(raw: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    if raw.shape[1] != 50:
        raise ValueError(f"{raw.shape[1]} columns instead of 50")
    raw = raw.rename(columns=lambda name: name.replace(".", "-"))  # copies made in R have dots
    raw = raw.set_index(_integers(raw["encounter_id"])).drop(columns="encounter_id")
    groups = _integers(raw.pop("patient_nbr"))
    y = _labels(raw.pop("readmitted"), _DIABETES_LABELS, "readmitted_within_30_days")
    columns = {}
    for name, values in raw.items():
        if name.startswith(_DIABETES_COUNTS + _DIABETES_CODES):
            values = _integers(values)
        columns[name] = values if name.startswith(_DIABETES_COUNTS) else _categorical(values)
    return pd.DataFrame(columns), y, groups


def _read_diabetes(path: Path) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    with _naming_source(path):
        if path.suffix != ".zip":
            return _diabetes(_read_csv(path))
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if Path(name).name == "diabetic_data.csv"]
            if not names:
                raise ValueError("no diabetic_data.csv inside")
            with archive.open(names[0]) as file:
                return _diabetes(_read_csv(file))


def fetch_diabetes130(
    *,
    data_home: str | PathLike[str] | None = None,
    subset: Literal["all"] = "all",
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Diabetes 130-US data set (classification of readmissions within 30 days).

    A row is one stay of a diabetic patient in hospital, and a patient has up to 40 stays. To
    protect patients instead of stays, pass `groups` to `fit` and use `unit="group"`.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder that contains, itself or in its subfolder `diabetes130`, `dataset_diabetes.zip` or
        `diabetic_data.csv`. The next candidate is the folder of the environment variable
        SKLEARN_PATE_DATA. Without files, OpenML's "Diabetes130US", version 1, is downloaded, with
        `data_home` as the cache of :func:`~sklearn.datasets.fetch_openml`.
    subset : {"all"}, default="all"
        There is no official split. Split by patient, for example with
        :class:`~sklearn.model_selection.GroupShuffleSplit` and `groups`.
    as_frame : bool, default=True
        Whether to return pandas objects, indexed by `encounter_id`. If False, `data` is a float
        array in which a categorical column holds the position of the level among its categories,
        and -1 for missing values.
    return_X_y : bool, default=False
        Whether to return only `(data, target)`, without the patients.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch` or tuple (data, target)
        data : DataFrame or float64 array of shape (101766, 47)
            Eight int64 columns (counts; `time_in_hospital` in days) and 39 categorical ones, which
            include numeric codes such as `admission_type_id`. The levels are the sorted values that
            occur; diag_1 to diag_3 have 700 to 800 levels, examide and citoglipton have one. "?" is
            a missing value, NaN. "None" in max_glu_serum and A1Cresult is a level: not measured.
        target : int64 Series "readmitted_within_30_days" or array of shape (101766,)
            1 if `readmitted` is "<30" (11,357 rows), 0 if it is ">30" or "NO".
        groups : int64 Series "patient_nbr" or array of shape (101766,)
            Identifiers of the 71,518 patients.
        frame : DataFrame of shape (101766, 48), or None
            Data and target; None if `as_frame` is False.
        feature_names, target_names : list of str
        DESCR : str

    Raises
    ------
    ValueError
        If `subset` is not "all", or the file or OpenML's table is damaged or not as expected.
    FileNotFoundError
        If there is no file and the download fails. The message lists the files and folders.
    TypeError
        If `data_home` is not a path or None.

    Notes
    -----
    Stays that ended in death or a hospice (discharge_disposition_id 11, 13, 14, 19, 20, 21) are
    included, although studies of readmission often exclude them. The fetcher checks the number of
    columns, the labels, and that numeric columns of OpenML's table have whole numbers. The table
    was not compared with UCI's file row by row.

    References
    ----------
    B. Strack et al. (2014). Impact of HbA1c measurement on hospital readmission rates. BioMed
    Research International, https://doi.org/10.1155/2014/781670. UCI, CC BY 4.0.

    Examples
    --------
    >>> from sklearn_pate.datasets import fetch_diabetes130
    >>> dataset = fetch_diabetes130()  # doctest: +SKIP
    >>> dataset.data.shape, dataset.groups.nunique()  # doctest: +SKIP
    ((101766, 47), 71518)
    """
    if subset != "all":
        raise ValueError(
            f"subset must be 'all', got {subset!r}. There is no official split; use "
            "GroupShuffleSplit"
        )
    requested = [["dataset_diabetes.zip", "diabetic_data.csv"]]
    paths, raw = _find_or_download(requested, "diabetes130", "Diabetes130US", 1, data_home)
    if raw is None:
        X, y, groups = _read_diabetes(paths[0])
    else:
        with _naming_source("OpenML's Diabetes130US, version 1"):
            X, y, groups = _diabetes(raw)
    about = {
        "groups": groups if as_frame else groups.to_numpy(copy=True),
        "target_names": ["not within 30 days", "within 30 days"],
        "DESCR": "Diabetes 130-US (UCI): readmission to hospital. Strack et al. (2014), CC BY 4.0.",
    }
    return _bunch(X, y, as_frame, return_X_y, **about)


def _read_idx(path: Path, n_dims: int) -> np.ndarray:
    """Read an IDX file: four magic bytes, big-endian uint32 sizes, and values of one byte."""
    with _naming_source(path):
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        start = 4 + 4 * n_dims
        if len(raw) < start or raw[:4] != bytes([0, 0, 8, n_dims]):
            raise ValueError(f"its header is not that of an IDX file of bytes with {n_dims} axes")
        shape = np.frombuffer(raw, ">u4", n_dims, offset=4).tolist()
        if len(raw) - start != math.prod(shape):
            raise ValueError(
                f"it contains {len(raw) - start} values, but its header declares shape {shape}"
            )
        return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def _read_mnist(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    X = _read_idx(images, 3)
    y = _read_idx(labels, 1)
    with _naming_source(f"{images} or {labels}"):
        if X.shape != (len(y), 28, 28) or y.max(initial=0) > 9:
            raise ValueError(
                "expected one label from 0 to 9 for each image of 28 x 28 pixels; got images of "
                f"shape {X.shape}, and {len(y)} labels up to {y.max(initial=0)}"
            )
    return X.reshape(-1, 784), y


def _cut_openml_mnist(raw: pd.DataFrame, parts: Sequence[str]) -> list[Any]:
    with _naming_source("OpenML's mnist_784, version 1"):
        y = _integers(raw["class"]).to_numpy()
        X = raw.drop(columns="class").to_numpy(np.uint8)
        beginnings = y[:5].tolist() + y[60_000:60_005].tolist()
        if X.shape != (70_000, 784) or beginnings != [5, 0, 4, 1, 9, 7, 2, 1, 0, 4]:
            raise ValueError(
                "it does not hold the 60,000 training images, followed by the 10,000 test images"
            )
        blocks = {"train": slice(60_000), "test": slice(60_000, None)}
        return [(X[blocks[part]], y[blocks[part]]) for part in parts]


def fetch_mnist(
    *,
    data_home: str | PathLike[str] | None = None,
    subset: Literal["all", "train", "test"] = "all",
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Load the MNIST data set (classification of images of handwritten digits).

    Parameters
    ----------
    data_home : path-like, default=None
        Folder that contains, itself or in its subfolder `mnist`, the files
        `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and
        `t10k-labels-idx1-ubyte` that `subset` needs, with or without `.gz`. The next candidate is
        the folder of the environment variable SKLEARN_PATE_DATA. Without files, OpenML's
        "mnist_784", version 1, is downloaded, with `data_home` as the cache of
        :func:`~sklearn.datasets.fetch_openml`.
    subset : {"all", "train", "test"}, default="all"
        "train" has 60,000 images, "test" has 10,000 images, and "all" has the training images
        first. OpenML has one table in this order; its size and the first labels of each block are
        checked.
    as_frame : bool, default=False
        Whether to return pandas objects, with columns pixel1 to pixel784.
    return_X_y : bool, default=False
        Whether to return only `(data, target)`.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch` or tuple (data, target)
        data : uint8 array or DataFrame of shape (n_samples, 784)
            Grey values from 0 (background) to 255, row by row from the top left corner. For a
            network, use `(X / np.float32(255)).reshape(-1, 1, 28, 28)`. Arithmetic on uint8 wraps
            around, so convert before subtracting.
        target : int64 array or Series "class" of shape (n_samples,)
            The digit, 0 to 9.
        frame : DataFrame of shape (n_samples, 785), or None
            Data and target; None if `as_frame` is False.
        feature_names, target_names : list of str
        DESCR : str

    Raises
    ------
    ValueError
        If `subset` is unknown, or a file or OpenML's table is damaged or not as expected.
    FileNotFoundError
        If there are no files and the download fails. The message lists the files and folders.
    TypeError
        If `data_home` is not a path or None.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner (1998). Gradient-based learning applied to
    document recognition. Proceedings of the IEEE 86(11), https://doi.org/10.1109/5.726791.

    Examples
    --------
    >>> from sklearn_pate.datasets import fetch_mnist
    >>> X, y = fetch_mnist(subset="test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape, X.dtype  # doctest: +SKIP
    ((10000, 784), dtype('uint8'))
    """
    parts = _parts_of(subset)
    requested = [[name + ".gz", name] for part in parts for name in _MNIST_FILES[part]]
    paths, raw = _find_or_download(requested, "mnist", "mnist_784", 1, data_home)
    if raw is None:
        tables = [_read_mnist(*pair) for pair in zip(paths[::2], paths[1::2], strict=True)]
    else:
        tables = _cut_openml_mnist(raw, parts)
    pixels, digits = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
    X = pd.DataFrame(pixels, columns=[f"pixel{i}" for i in range(1, 785)], copy=False)
    y = pd.Series(digits.astype("int64"), name="class")
    about = "MNIST: handwritten digits, 28 x 28 pixels. LeCun et al. (1998)."
    return _bunch(X, y, as_frame, return_X_y, target_names=list("0123456789"), DESCR=about)
