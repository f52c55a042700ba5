"""Fetchers of data sets."""

import pytest

from sklearn_pate import datasets

from .helpers import each, refused


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def fetch_openml(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    monkeypatch.delenv("SKLEARN_PATE_DATA", raising=False)


fetchers = pytest.mark.parametrize(
    "fetch", [datasets.fetch_adult, datasets.fetch_diabetes130, datasets.fetch_mnist]
)


@each("subset", ("Train", None, 5, ["all"]))
@fetchers
def test_a_wrong_subset(fetch, subset):
    with refused("subset must be .*got"):
        fetch(subset=subset)


@fetchers
def test_a_folder_without_the_files(fetch, tmp_path):
    with refused("Found no files of .*Looked for: .*data_home=D", FileNotFoundError):
        fetch(data_home=tmp_path)


@fetchers
def test_a_folder_that_is_a_number(fetch):
    with refused("data_home must be .*got 5", TypeError):
        fetch(data_home=5)
