"""Networks on a GPU: 250 teachers trained together, a student, and both on one core of the CPU.

Images are MNIST's, if they are in the folder `mnist` of $SKLEARN_PATE_DATA. Else they are digits of
scikit-learn in the shape of MNIST: enlarged, shifted, with noise.

Times in kernels are those that torch.profiler records on the card, with overlaps counted once.
"""

import contextlib
import gc
import importlib.util
import time
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..shared import MissingError, data
from .measure import Row

IMAGES = 240  # of each teacher; 250 teachers have all 60,000 of MNIST
BATCH = 32
#: Seconds of networks that train together, by part
SPENT = Counter()


@dataclass(frozen=True)
class Sizes:
    """How much is trained; the number of epochs falls if the first one is slow."""

    teachers: int = 250  # together on a GPU
    few: int = 10  # on the CPU
    alone: int = 5  # one after the other
    epochs: int = 20
    slice: int = 10  # epochs of training for the share of time in kernels
    queries: int = 2000
    labels: int = 500  # of the student
    student_epochs: int = 20

    @classmethod
    def quick(cls):
        """A few seconds on a CPU."""
        return cls(3, 2, 1, 1, 1, 60, 40, 1)


# --- images ---------------------------------------------------------------------------------------


class Images(NamedTuple):
    """Images of teachers and queries, their labels, and a description."""

    X: np.ndarray
    y: np.ndarray
    X_query: np.ndarray
    y_query: np.ndarray
    name: str


def images(n_train, n_queries):
    """MNIST, if it is there, or made up images."""
    try:
        data("mnist", "MNIST")
    except MissingError:
        made = made_up_images(n_train, n_queries)
        return Images(*made, "digits of scikit-learn, enlarged, shifted, with noise")
    from sklearn_pate.datasets import fetch_mnist

    parts = []
    for subset, n in (("train", n_train), ("test", n_queries)):
        X, y = fetch_mnist(subset=subset, return_X_y=True, as_frame=False)
        parts += [scaled(X[:n].reshape(-1, 1, 28, 28) / np.float32(255)), y[:n].astype(int)]
    return Images(*parts, "MNIST")


def made_up_images(n_train, n_queries):
    """Train and query images of different writers' digits."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    large = zoom(X.reshape(-1, 8, 8).astype(np.float32) / 16, (1, 2.5, 2.5), order=1)
    rng = np.random.default_rng(0)
    parts = []
    for n, first, last in ((n_train, 0, 1300), (n_queries, 1300, len(y))):
        drawn = rng.integers(first, last, n)
        places = rng.integers(2, 7, (n, 2))
        made = 0.2 * rng.random((n, 28, 28), dtype=np.float32)
        for top, left in np.ndindex(7, 7):
            here = np.flatnonzero((places == (top, left)).all(axis=1))
            made[here, top : top + 20, left : left + 20] += 0.8 * large[drawn[here]]
        parts += [scaled(made[:, None]), y[drawn]]
    return parts


def scaled(X):
    """As float32 without gaps, as torch wants it."""
    return np.ascontiguousarray(X, dtype=np.float32)


# --- teachers -------------------------------------------------------------------------------------


def module():
    """A small network of convolutions for an image of 28 x 28."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )


def classes_of_teachers():
    """A teacher that trains with others and is timed, and one that trains alone."""
    from skorch import NeuralNetClassifier

    from sklearn_pate.teachers.batched import BatchedTeachers

    class Timed(BatchedTeachers):
        def _run_epochs(self, stack, members, trained, device):
            wait(device)
            start = time.perf_counter()
            super()._run_epochs(stack, members, trained, device)
            wait(device)
            SPENT["training"] += time.perf_counter() - start

    class Sliced(BatchedTeachers):
        def _run_epochs(self, *args):
            with recorded(args[-1]):
                super()._run_epochs(*args)

    class OneByOne(NeuralNetClassifier):
        def train_step(self, *args, **kwargs):  # overridden: not batched, even on a GPU
            return super().train_step(*args, **kwargs)

    return Timed, Sliced, OneByOne


def poll(images, n_teachers, epochs, device, teacher="timed"):
    """Votes of so many teachers on all queries."""
    import torch
    from skorch import NeuralNetClassifier
    from torch import nn

    from sklearn_pate import PATEClassifier

    Timed, Sliced, OneByOne = classes_of_teachers()
    network = (OneByOne if teacher == "alone" else NeuralNetClassifier)(
        module,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.002,
        max_epochs=epochs,
        batch_size=BATCH,
        iterator_train__shuffle=True,
        train_split=None,
        classes=list(range(10)),
        device=device,
        verbose=0,
    )
    if teacher != "alone":
        wrapper = Timed if teacher == "timed" else Sliced
        network = wrapper(network, max_teachers=n_teachers)
    clf = PATEClassifier(network, n_teachers=n_teachers, classes=range(10), random_state=0)
    n = IMAGES * n_teachers
    return clf.poll(images.X[:n], images.y[:n], images.X_query)


def accuracies(counts, y):
    """Of one teacher on average, and of the class with most votes."""
    own = counts[np.arange(len(y)), y].mean() / counts.sum(axis=1).mean()
    return {"teacher_accuracy": float(own), "vote_accuracy": float((counts.argmax(1) == y).mean())}


# --- the card -------------------------------------------------------------------------------------


def wait(device):
    """Wait until a GPU has done all it was given."""
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def in_bfloat16(device):
    """Layers compute in bfloat16."""
    import torch

    # Its cache would keep the first weights in all steps
    return torch.autocast(torch.device(device).type, torch.bfloat16, cache_enabled=False)


@contextlib.contextmanager
def one_core():
    """Torch computes in one thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def memory_of(device, found):
    """Add a GPU's peak memory in a block, in MiB, to the results."""
    import torch

    on_gpu = torch.device(device).type == "cuda"
    if on_gpu:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    yield
    if on_gpu:
        found["peak_gpu_mib"] = torch.cuda.max_memory_allocated(device) / 2**20
        found["peak_gpu_mib_reserved"] = torch.cuda.max_memory_reserved(device) / 2**20


#: Seconds of the last recording, in kernels and in all; and the kernels that took most of them
RECORDED = {}


@contextlib.contextmanager
def recorded(device):
    """Record the seconds that a GPU spends in kernels, compared with all seconds of a block."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    if torch.device(device).type != "cuda":
        yield
        return
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        wait(device)
        start = time.perf_counter()
        yield
        wait(device)
        seconds = time.perf_counter() - start
    kernels = [
        (event.start_ns(), event.start_ns() + event.duration_ns(), event.name())
        for event in profiler.profiler.kineto_results.events()
        if is_kernel(event)
    ]
    by_name = Counter()
    for start_ns, end_ns, name in kernels:
        by_name[name[:100]] += (end_ns - start_ns) / 1e9
    RECORDED.clear()
    RECORDED.update(
        seconds=seconds,
        kernel_seconds=covered(kernels) / 1e9,
        n_kernels=len(kernels),
        longest=dict(by_name.most_common(12)),
    )


def is_kernel(event):
    """Whether an event of the profiler is a kernel, and not a copy or a name for a stretch."""
    if not str(event.device_type()).endswith("CUDA"):
        return False
    kind = getattr(event, "activity_type", None)
    if kind is not None:
        return "kernel" in str(kind()).lower()
    copies = "Memcpy", "Memset"
    return not (event.name().startswith(copies) or event.is_user_annotation())


def covered(intervals):
    """Length of the union of intervals, each of them its start, its end and more."""
    total, reach = 0, -np.inf
    for start, end, *_ in sorted(intervals):
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


# --- the measurements -----------------------------------------------------------------------------


class Networks:
    """All measurements, in the order of what matters most; some need those before them."""

    def __init__(self, sizes, device):
        import torch

        self.sizes = sizes
        self.device = device
        self.on_gpu = torch.device(device).type == "cuda"
        self.n_teachers = sizes.teachers if self.on_gpu else sizes.few
        self.images = images(IMAGES * self.n_teachers, sizes.queries)
        self.epochs = sizes.epochs
        self.labels = self.images.y_query  # of the student, until teachers have voted
        self.core = None  # milliseconds of a teacher on one core
        self.found = {}
        torch.optim.SGD([torch.zeros(1, requires_grad=True)])  # the first one imports for seconds

    def setting(self, n_teachers):
        """Describe the setting of the numbers."""
        what = f"{n_teachers} networks, {IMAGES} images each, {self.epochs} epochs of batches"
        return f"{self.images.name}, {what} of {BATCH}, {len(self.images.y_query):,} queries"

    def warm_up(self, seconds):
        """Start the card, import all, and take fewer epochs if one is slow."""
        import torch

        poll(self.images, self.n_teachers, 1, self.device)
        SPENT.clear()
        start = time.perf_counter()
        poll(self.images, self.n_teachers, 1, self.device)
        all_seconds, epoch = time.perf_counter() - start, SPENT["training"]
        room = (seconds - all_seconds) / epoch
        self.epochs = int(np.clip(room, min(2, self.sizes.epochs), self.sizes.epochs))
        found = {"seconds": all_seconds, "seconds_of_an_epoch": epoch, "epochs": self.epochs}
        return found | {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}

    def poll(self, n_teachers, device, teacher="timed", bfloat16=False):
        """Milliseconds per teacher of a whole poll, and other results."""
        found = {"n_teachers": n_teachers, "epochs": self.epochs}
        SPENT.clear()
        about = in_bfloat16(device) if bfloat16 else contextlib.nullcontext()
        with memory_of(device, found):
            wait(device)
            start = time.perf_counter()
            with about:
                votes = poll(self.images, n_teachers, self.epochs, device, teacher)
            wait(device)
            found["seconds"] = time.perf_counter() - start
        found["ms_per_teacher"] = 1e3 * found["seconds"] / n_teachers
        if teacher == "timed":
            found["training_ms_per_teacher"] = 1e3 * SPENT["training"] / n_teachers
        found |= accuracies(votes.counts, self.images.y_query)
        return found, votes.counts

    def on_one_core(self):
        """The faster of two ways to train few teachers on one core of the CPU."""
        with one_core():
            ways = {
                "together": self.poll(self.sizes.few, "cpu")[0],
                "one by one": self.poll(self.sizes.alone, "cpu", "alone")[0],
            }
        way = min(ways, key=lambda name: ways[name]["ms_per_teacher"])
        self.core = ways[way]["ms_per_teacher"]
        self.core_is = f"one core of the CPU, {ways[way]['n_teachers']} networks {way}"
        return ways

    def row(self, name, found, setting):
        """A row of milliseconds per teacher, compared with one core."""
        pairs = ((found["ms_per_teacher"], self.core),)
        found = found | {"times_a_core": self.core / found["ms_per_teacher"]}
        return Row(name, "ms/teacher", self.core_is, setting, pairs, details=found)

    def together(self, bfloat16=False):
        """All teachers together."""
        found, counts = self.poll(self.n_teachers, self.device, bfloat16=bfloat16)
        self.found[bfloat16] = found
        if not bfloat16:  # noisy labels for the student, epsilon of no account
            rng = np.random.default_rng(0)
            noise = rng.normal(0, self.n_teachers / 10, counts.shape)
            self.labels = (counts + noise).argmax(axis=1)
        return found

    def kernels(self, bfloat16=False):
        """Share of the card's time in kernels: of a slice of training, and of a whole poll."""
        about = in_bfloat16(self.device) if bfloat16 else contextlib.nullcontext()
        epochs = min(self.sizes.slice, self.epochs)
        with about:
            poll(self.images, self.n_teachers, epochs, self.device, "sliced")
        slice_ = dict(RECORDED, epochs=epochs)
        with about, recorded(self.device):
            poll(self.images, self.n_teachers, self.epochs, self.device)
        whole = dict(RECORDED)
        if not (slice_["n_kernels"] and whole["n_kernels"]):
            raise RuntimeError("torch.profiler recorded no kernels")
        # The profiler itself takes time, so shares of its own runs are too small
        without = self.found.get(bfloat16, whole)["seconds"]
        return {
            "share_of_training": slice_["kernel_seconds"] / slice_["seconds"],
            "share_of_poll": whole["kernel_seconds"] / whole["seconds"],
            "share_of_poll_without_profiler": whole["kernel_seconds"] / without,
            "slice": slice_,
            "poll": whole,
        }

    def one_by_one(self):
        """A few teachers one after the other, on the device."""
        poll(self.images, 1, 1, self.device, "alone")
        found, _ = self.poll(self.sizes.alone, self.device, "alone")
        seconds = found["ms_per_teacher"] * self.n_teachers / 1e3
        return found | {f"seconds_of_{self.n_teachers}_extrapolated": seconds}

    def student(self, device, epochs, bfloat16=False):
        """A student by virtual adversarial training; the first half of the rows is for it."""
        from sklearn_pate.neural import VATClassifier

        X, y = self.images.X_query, self.images.y_query
        half = len(y) // 2
        targets = self.labels[:half].copy()
        targets[self.sizes.labels :] = -1
        found = {"labels": int((targets != -1).sum()), "rows": half}
        found["label_accuracy"] = float((targets == y[:half])[: self.sizes.labels].mean())
        student = VATClassifier(max_epochs=epochs, device=device, random_state=0)
        about = in_bfloat16(device) if bfloat16 else contextlib.nullcontext()
        with memory_of(device, found):
            start = time.perf_counter()
            with about:
                student.fit(X[:half], targets)
            wait(device)
            found["seconds"] = time.perf_counter() - start
        found["steps"] = int(student.net_.n_steps_)
        found["ms_per_step"] = 1e3 * found["seconds"] / found["steps"]
        found["student_accuracy"] = float(student.score(X[half:], y[half:]))
        return found


def networks(quick, device=None, budget=300.0, sizes=None):
    """Rows of networks; each stands for itself if another fails or time runs out."""
    if importlib.util.find_spec("skorch") is None:
        raise MissingError("the extra torch")
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise MissingError("a GPU")
    sizes = sizes or (Sizes.quick() if quick else Sizes())
    deadline = time.perf_counter() + budget
    here = Networks(sizes, device)
    all_of_them = f"{here.n_teachers} networks together, {device}"
    card = torch.cuda.get_device_name(device) if here.on_gpu else "CPU"

    def tried(name, function, *args, unit="", **kwargs):
        """The result of a function, in a row; or a row with the reason why it has none."""
        left = deadline - time.perf_counter()
        if left <= 0:
            return None, Row(name, unit, "", "", missing=f"needs more than {budget:g} seconds")
        try:
            found = function(*args, **kwargs)
        except Exception as error:
            text = f"{type(error).__name__}: {str(error)[:300]}"
            error.__traceback__ = error.__context__ = error.__cause__ = None  # frees its tensors
            return None, Row(name, unit, "", "", missing=text)
        return found, Row(name, unit, "", "", details=found)

    _, row = tried(f"warm-up, {card}", here.warm_up, budget / 8)
    yield row
    found, row = tried(all_of_them, here.together, unit="ms/teacher")
    yield row
    cores, row = tried("networks on one core", here.on_one_core, unit="ms/teacher")
    yield row
    if found and cores:
        name = f"{all_of_them}, compared with a core"
        yield here.row(name, found, here.setting(here.n_teachers))
    if here.on_gpu:
        yield tried("share of the card's time in kernels", here.kernels)[1]
    found, row = tried(f"{all_of_them}, bfloat16", here.together, bfloat16=True)
    yield here.row(row.name, found, here.setting(here.n_teachers)) if found and cores else row
    if here.on_gpu:
        name = "share of the card's time in kernels, bfloat16"
        yield tried(name, here.kernels, bfloat16=True)[1]
        found, row = tried(f"{sizes.alone} networks one by one, {device}", here.one_by_one)
        yield here.row(row.name, found, here.setting(sizes.alone)) if found and cores else row
    with one_core():
        name = "student, one core"
        core, row = tried(name, here.student, "cpu", 1)
    yield row
    for bfloat16 in (False, True):
        name = f"student, {device}" + ", bfloat16" * bfloat16
        if here.on_gpu:
            tried(name, here.student, device, 1, bfloat16)  # warm-up
        found, row = tried(name, here.student, device, sizes.student_epochs, bfloat16)
        if found and core:
            pairs = ((found["ms_per_step"], core["ms_per_step"]),)
            setting = f"VATClassifier, {found['rows']:,} images, {found['steps']:,} steps"
            row = Row(name, "ms/step", "one core of the CPU", setting, pairs, details=found)
        yield row
