"""The fetchers, on small made-up files and, where SKLEARN_PATE_DATA is set, on the real ones."""

import gzip
import os
import struct
import zipfile
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from sklearn.utils import Bunch

from sklearn_pate import datasets
from sklearn_pate.datasets import fetch_adult, fetch_diabetes130, fetch_mnist

DATA = os.environ.get("SKLEARN_PATE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SKLEARN_PATE_DATA names no folder")


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """No real download and no real data by accident; the attempts to download are recorded."""
    attempts = []

    def no_network(name, **options):
        attempts.append((name, options))
        raise URLError("no network")

    monkeypatch.delenv("SKLEARN_PATE_DATA", raising=False)
    monkeypatch.setattr(datasets, "fetch_openml", no_network)
    return attempts


@pytest.fixture
def openml(monkeypatch, calls):
    """Let OpenML answer with the given table."""

    def answer(table):
        def fetch(name, **options):
            calls.append((name, options))
            return Bunch(frame=table)

        monkeypatch.setattr(datasets, "fetch_openml", fetch)

    return answer


# ------------------------------------------------------------------------------ made-up files

TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
2174, 0, 40, United-States, <=50K
50, ?, 83311, HS-grad, 9, Divorced, ?, Husband, Black, Female, 0, 7, 13, ?, >50K
28, Private, 338409, Preschool, 1, Widowed, Sales, Wife, Other, Female, 0, 0, 40, Cuba, <=50K

"""
TEST = """\
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, Peru, <=50K.
44, Local-gov, 160323, Doctorate, 16, Separated, Sales, Husband, Black, Male, 7688, 0, 40, ?, >50K.

"""
COMMENT = "|1x3 Cross validator\n"


@pytest.fixture
def adult_home(tmp_path):
    (tmp_path / "adult.data").write_text(TRAIN)
    (tmp_path / "adult.test").write_text(COMMENT + TEST)
    return tmp_path


DRUGS = [
    *["metformin", "repaglinide", "nateglinide", "chlorpropamide", "glimepiride", "acetohexamide"],
    *["glipizide", "glyburide", "tolbutamide", "pioglitazone", "rosiglitazone", "acarbose"],
    *["miglitol", "troglitazone", "tolazamide", "examide", "citoglipton", "insulin"],
    *["glyburide-metformin", "glipizide-metformin", "glimepiride-pioglitazone"],
    *["metformin-rosiglitazone", "metformin-pioglitazone", "change", "diabetesMed"],
]


def diabetes_table():
    """Four stays of three patients, as text, in UCI's 50 columns."""
    columns = {
        "encounter_id": ["9", "2", "30", "4"],
        "patient_nbr": ["700", "600", "700", "500"],
        "race": ["Asian", "?", "Caucasian", "?"],
        "gender": ["Female", "Male", "Female", "Unknown/Invalid"],
        "age": ["[0-10)", "[90-100)", "[10-20)", "[0-10)"],
        "weight": ["?", "?", "?", "[75-100)"],
        "admission_type_id": ["10", "9", "1", "10"],
        "discharge_disposition_id": ["25", "1", "1", "11"],
        "admission_source_id": ["1", "7", "7", "7"],
        "time_in_hospital": ["1", "3", "2", "14"],
        "payer_code": ["?", "MC", "?", "MC"],
        "medical_specialty": ["?", "Surgery", "?", "Surgery"],
        **{f"num_{name}": list("4123") for name in ("lab_procedures", "procedures", "medications")},
        **{f"number_{name}": list("0100") for name in ("outpatient", "emergency", "inpatient")},
        "diag_1": ["250.00", "250", "V27", "428"],
        "diag_2": ["?", "250", "V27", "428"],
        "diag_3": ["?", "?", "V27", "428"],
        "number_diagnoses": ["1", "9", "6", "7"],
        "max_glu_serum": ["None", ">300", "None", "Norm"],
        "A1Cresult": ["None", "None", ">8", "Norm"],
        **{drug: ["No", "Steady", "Up", "No"] for drug in DRUGS},
        "readmitted": ["NO", ">30", "<30", "<30"],
    }
    return pd.DataFrame(columns)


@pytest.fixture
def diabetes_home(tmp_path):
    with zipfile.ZipFile(tmp_path / "dataset_diabetes.zip", "w") as archive:
        csv = diabetes_table().to_csv(index=False)
        archive.writestr("dataset_diabetes/IDs_mapping.csv", "admission_type_id,description\n")
        archive.writestr("dataset_diabetes/diabetic_data.csv", csv)
    return tmp_path


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


IMAGES = np.arange(5 * 784).reshape(5, 28, 28) % 256
DIGITS = np.array([3, 0, 9, 1, 7])


@pytest.fixture
def mnist_home(tmp_path):
    """Three training images in gzip files, two test images in plain ones."""
    for name, part in [("train", slice(0, 3)), ("t10k", slice(3, 5))]:
        for kind, array in [("images-idx3", IMAGES[part]), ("labels-idx1", DIGITS[part])]:
            content = idx(array)
            path = tmp_path / f"{name}-{kind}-ubyte"
            if name == "train":
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
            else:
                path.write_bytes(content)
    return tmp_path


# ------------------------------------------------------------------------------ all fetchers


@cases(
    "fetch, home, shape, dtype, described",
    (fetch_adult, "adult_home", (5, 14), "f8", "Adult"),
    (fetch_diabetes130, "diabetes_home", (4, 47), "f8", "Strack"),
    (fetch_mnist, "mnist_home", (5, 784), "u1", "MNIST"),
)
def test_fetchers_return_a_frame_or_arrays(request, calls, fetch, home, shape, dtype, described):
    home = request.getfixturevalue(home)
    frame, arrays = (fetch(data_home=home, as_frame=as_frame) for as_frame in (True, False))
    assert frame.data.shape == arrays.data.shape == shape
    assert list(frame.data.columns) == frame.feature_names == arrays.feature_names
    pd.testing.assert_frame_equal(frame.frame, pd.concat([frame.data, frame.target], axis=1))
    assert arrays.frame is None and arrays.data.dtype == dtype
    assert frame.target.dtype == arrays.target.dtype == np.int64
    for j, (_, values) in enumerate(frame.data.items()):
        is_category = isinstance(values.dtype, pd.CategoricalDtype)
        expected = values.cat.codes if is_category else values  # a missing one is -1
        np.testing.assert_array_equal(arrays.data[:, j], expected)
    X, y = fetch(data_home=home, as_frame=False, return_X_y=True)
    np.testing.assert_array_equal(X, arrays.data)
    np.testing.assert_array_equal(y, arrays.target)
    assert X.flags.writeable and y.flags.writeable and described in frame.DESCR and not calls


@cases(
    "fetch, folder, name, version, files",
    (fetch_adult, "adult", "adult", 2, "adult.data, adult.test"),
    (fetch_diabetes130, "diabetes130", "Diabetes130US", 1, "diabetes.zip or diabetic_data.csv"),
    (fetch_mnist, "mnist", "mnist_784", 1, "train-images-idx3-ubyte.gz or train-images-idx3-"),
)
def test_fetchers_without_files_name_the_folders(
    fetch, folder, name, version, files, tmp_path, monkeypatch, calls
):
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(second))
    with pytest.raises(FileNotFoundError) as error:
        fetch(data_home=first)
    for part in (first, first / folder, second, second / folder, files, "no network"):
        assert str(part) in str(error.value)
    assert calls == [(name, {"version": version, "data_home": first, "as_frame": True})]
    monkeypatch.delenv("SKLEARN_PATE_DATA")
    pytest.raises(FileNotFoundError, fetch).match("Searched: no folder, because none was given")


# ------------------------------------------------------------------------------ Adult


def test_fetch_adult_returns_the_columns_and_labels(adult_home):
    dataset = fetch_adult(data_home=adult_home)
    X, y = dataset.data, dataset.target
    assert list(X.index) == list(y.index) == list(range(5))
    assert X["age"].tolist() == [39, 50, 28, 25, 44]
    assert X.select_dtypes("int64").shape[1] == 6 and X.select_dtypes("category").shape[1] == 8
    assert y.name == "class" and y.tolist() == [0, 1, 0, 0, 1]
    assert dataset.target_names == ["<=50K", ">50K"]
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 1, "occupation": 1, "native-country": 2}


def test_fetch_adult_categories_do_not_depend_on_the_subset(adult_home):
    subsets = "train", "test", "all"
    train, test, both = (fetch_adult(data_home=adult_home, subset=s).data for s in subsets)
    assert train.dtypes.tolist() == test.dtypes.tolist() == both.dtypes.tolist()
    pd.testing.assert_frame_equal(pd.concat([train, test], ignore_index=True), both)


@cases(
    "old, new, reason",
    ("Private", "Privat", "'Privat' in column 'workclass'"),
    (" <=50K", " 50K", "unknown label '50K'"),
    ("28, Private", "28, 1, Private", "15"),
    (TRAIN, "", "no rows"),
    ("28, Private", "28.5, Private", "a fraction in column 'age'"),
)
def test_fetch_adult_refuses_damaged_files(adult_home, old, new, reason):
    path = adult_home / "adult.data"
    path.write_text(TRAIN.replace(old, new))
    with pytest.raises(ValueError, match="damaged or not the expected file") as error:
        fetch_adult(data_home=adult_home)
    assert str(path) in str(error.value) and reason in str(error.value)


def openml_adult(home):
    """Tile the made-up rows to OpenML's size, with its order and its types."""
    frame = fetch_adult(data_home=home).frame
    test = frame.iloc[np.resize([3, 4], 16_281)]
    table = pd.concat([test, frame.iloc[np.resize([0, 1, 2], 32_561)]], ignore_index=True)
    table["class"] = pd.Categorical(np.where(table["class"], ">50K", "<=50K"))
    for name in table.select_dtypes("category"):  # other levels in another order
        table[name] = table[name].cat.remove_unused_categories().cat.as_unordered()
        table[name] = table[name].cat.reorder_categories(table[name].cat.categories[::-1])
    return table.astype(dict.fromkeys(table.select_dtypes("int64"), float))


@pytest.mark.slow
def test_fetch_adult_from_openml_equals_the_files(adult_home, openml, calls):
    table = openml_adult(adult_home)
    expected = fetch_adult(data_home=adult_home)
    (adult_home / "adult.data").unlink()
    (adult_home / "adult.test").unlink()
    openml(table)
    dataset = fetch_adult(data_home=str(adult_home))
    assert len(calls) == 1
    rows = [*range(3), 32_561, 32_562]  # training rows first, as from the files
    pd.testing.assert_frame_equal(dataset.frame.iloc[rows].reset_index(drop=True), expected.frame)
    for wrong in (table.iloc[:-1], table[::-1].reset_index(drop=True)):
        openml(wrong)
        with pytest.raises(ValueError, match="OpenML's adult, version 2.*16,281 rows of adult"):
            fetch_adult(data_home=adult_home)


# ------------------------------------------------------------------------------ Diabetes 130-US


def test_fetch_diabetes130_returns_columns_labels_and_groups(diabetes_home):
    dataset = fetch_diabetes130(data_home=diabetes_home)
    X, y, groups = dataset.data, dataset.target, dataset.groups
    for part in (X, y, groups):
        assert part.index.tolist() == [9, 2, 30, 4] and part.index.name == "encounter_id"
    assert groups.name == "patient_nbr" and groups.dtype == "int64"
    assert y.name == "readmitted_within_30_days" and y.tolist() == [0, 0, 1, 1]
    assert dataset.target_names[1] == "within 30 days"
    arrays = fetch_diabetes130(data_home=diabetes_home, as_frame=False)
    assert arrays.groups.tolist() == groups.tolist() == [700, 600, 700, 500]
    assert X.select_dtypes("int64").shape[1] == 8 and X.select_dtypes("category").shape[1] == 39
    assert X["admission_type_id"].cat.categories.tolist() == [1, 9, 10]  # sorted as numbers
    missing = X.isna().sum()[lambda number: number > 0].to_dict()  # the question mark
    assert list(missing.values()) == [2, 3, 2, 2, 1, 2]
    assert X["max_glu_serum"].tolist() == ["None", ">300", "None", "Norm"]  # and not "None"
    with pytest.raises(ValueError, match="no official split.*GroupShuffleSplit"):
        fetch_diabetes130(subset="test")


def test_fetch_diabetes130_refuses_damaged_files(diabetes_home):
    path, csv = diabetes_home / "dataset_diabetes.zip", diabetes_home / "diabetic_data.csv"
    whole = path.read_bytes()

    def is_refused(reason):
        with pytest.raises(ValueError, match=reason):
            fetch_diabetes130(data_home=diabetes_home)

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.csv", "a,b\n")
    is_refused("dataset_diabetes.zip is damaged.*no diabetic_data.csv")
    path.write_bytes(whole[:100])
    is_refused("dataset_diabetes.zip is damaged.*not a zip file")
    path.unlink()
    diabetes_table().drop(columns="weight").to_csv(csv, index=False)
    is_refused("diabetic_data.csv is damaged.*49 columns instead of 50")
    diabetes_table().replace({"readmitted": {"NO": "no"}}).to_csv(csv, index=False)
    is_refused("diabetic_data.csv is damaged.*unknown label 'no'")


def test_fetch_diabetes130_from_openml_equals_the_files(diabetes_home, openml, calls):
    expected = fetch_diabetes130(data_home=diabetes_home)
    (diabetes_home / "dataset_diabetes.zip").unlink()
    table = diabetes_table().replace("?", np.nan)
    numbers = [name for name in table if name.startswith(("num", "time", "patient", "encounter"))]
    table = table.astype(dict.fromkeys(numbers, float) | {"admission_source_id": float})
    others = [name for name in table if table[name].dtype != float]
    table = table.astype(dict.fromkeys(others, "category"))
    openml(table.rename(columns=lambda name: name.replace("-", ".")))
    dataset = fetch_diabetes130(data_home=diabetes_home)
    assert len(calls) == 1
    pd.testing.assert_frame_equal(dataset.frame, expected.frame)
    pd.testing.assert_series_equal(dataset.groups, expected.groups)
    openml(table.drop(columns="race"))
    with pytest.raises(ValueError, match="OpenML's Diabetes130US.*49 columns"):
        fetch_diabetes130(data_home=diabetes_home)


# ------------------------------------------------------------------------------ MNIST


def test_fetch_mnist_returns_images_and_labels(mnist_home):
    for subset, rows in (("all", slice(0, 5)), ("train", slice(0, 3)), ("test", slice(3, 5))):
        dataset = fetch_mnist(data_home=mnist_home, subset=subset)
        np.testing.assert_array_equal(dataset.data.reshape(-1, 28, 28), IMAGES[rows])
        np.testing.assert_array_equal(dataset.target, DIGITS[rows])
    assert dataset.feature_names[::783] == ["pixel1", "pixel784"]
    assert dataset.target_names == list("0123456789")


IMAGES_GZ, LABELS_GZ = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


@cases(
    "name, content, reason",
    (IMAGES_GZ, gzip.compress(idx(IMAGES[:3]), mtime=0)[:-20], "end-of-stream"),
    (IMAGES_GZ, idx(IMAGES[:3]), "Not a gzipped file"),
    (LABELS_GZ, gzip.compress(idx(IMAGES[:3])), "not that of an IDX file of bytes with 1 axes"),
    (IMAGES_GZ, gzip.compress(idx(IMAGES[:3])[:-1]), "it contains 2351 values"),
    (LABELS_GZ, gzip.compress(idx(DIGITS[:2])), "shape (3, 28, 28), and 2 labels"),
    (LABELS_GZ, gzip.compress(idx(DIGITS[:3] + 1)), "labels up to 10"),
    ids=lambda value: "bytes" if isinstance(value, bytes) else value,
)
def test_fetch_mnist_refuses_damaged_files(mnist_home, name, content, reason):
    (mnist_home / name).write_bytes(content)
    with pytest.raises(ValueError, match="damaged or not the expected file") as error:
        fetch_mnist(data_home=mnist_home, subset="train")
    assert str(mnist_home / name) in str(error.value) and reason in str(error.value)


# ------------------------------------------------------------------------------ the real files


@pytest.mark.slow
@needs_data
def test_fetchers_read_the_real_files(monkeypatch):
    train = fetch_adult(data_home=DATA, subset="train")
    assert np.bincount(train.target).tolist() == [24_720, 7_841]
    X = fetch_adult(data_home=DATA).data
    assert X.shape == (48_842, 14) and X.isna().sum().sum() == 2_799 + 2_809 + 857
    assert (X["education"].cat.codes + 1 == X["education-num"]).all()
    X, y = fetch_mnist(data_home=DATA, subset="train", return_X_y=True)
    assert X.shape == (60_000, 784) and X.mean() == pytest.approx(33.3184, abs=1e-4)
    assert np.bincount(y)[:5].tolist() == [5_923, 6_742, 5_958, 6_131, 5_842]
    monkeypatch.setenv("SKLEARN_PATE_DATA", DATA)
    dataset = fetch_diabetes130()
    assert dataset.data.shape == (101_766, 47) and dataset.data.index.is_unique
    assert np.bincount(dataset.target).tolist() == [90_409, 11_357]
    assert dataset.groups.nunique() == 71_518 and dataset.groups.value_counts().iloc[0] == 40
    missing = dataset.data.isna().sum()
    assert missing[missing > 0].tolist() == [2_273, 98_569, 40_256, 49_949, 21, 358, 1_423]
