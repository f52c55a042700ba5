"""The folder of memory=, and teachers that cannot be written to it or sent to a process."""

import os
import threading

from sklearn_pate.exceptions import TeacherError

from .helpers import Teacher, fit, refused

CANNOT_WRITE = "memory=.*cannot be written to"


class Locked(Teacher):
    """Cannot be pickled, so not be sent to another process."""

    lock = None

    def __init__(self):
        super().__init__()

    def __getstate__(self):
        return super().__getstate__() | {"lock": threading.Lock()}


def test_memory_without_a_name():
    with refused("memory='' cannot be written to"):
        fit({"memory": ""})


def test_memory_that_is_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with refused(CANNOT_WRITE):
        fit({"memory": file})


def test_memory_below_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with refused(CANNOT_WRITE):
        fit({"memory": str(file / "sub")})


def test_memory_of_teachers_that_do_not_pickle(tmp_path):
    with refused("memory needs .* that pickle.*base_estimator"):
        fit({"memory": tmp_path, "base_estimator": Locked()})


def test_processes_of_teachers_that_do_not_pickle():
    message = "teachers could not be sent .*PicklingError.*n_jobs=1"
    with refused(message, TeacherError, by_teachers=True):
        fit({"base_estimator": Locked(), "n_jobs": 2})


def test_a_folder_for_memory_may_be_a_path_or_text(tmp_path):
    for memory in (tmp_path / "a", os.fspath(tmp_path / "b")):
        assert fit({"memory": memory}).n_teachers_ == 4
