"""Teachers trained together: same seeds, batches and votes as one by one, or else that way.

In float32 a sum depends on the order of its terms, so weights agree within 1e-4 after some epochs,
and a vote may differ where a teacher is that undecided; here none does.
"""

import gc
import pickle
import traceback
import warnings
import weakref

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.memory import private_memory
from sklearn_pate.teachers import Sites, collect_votes
from sklearn_pate.teachers.together import batched_network

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")

from torch import nn  # noqa: E402

from sklearn_pate.neural import RandomAffine  # noqa: E402
from sklearn_pate.teachers import batched  # noqa: E402
from sklearn_pate.teachers.batchable import ELEMENTWISE  # noqa: E402
from sklearn_pate.teachers.batched import BatchedTeachers, Trainee  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:teachers run in threads:UserWarning")
DIGITS, DIGITS_Y = load_digits(return_X_y=True)
DIGITS = (DIGITS / 16).astype(np.float32)
X, Y, X_PUBLIC = DIGITS[:1200], DIGITS_Y[:1200], DIGITS[1200:1500]
SECRET = "s3cr3t"


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def mlp(*more):
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), *more, nn.Linear(16, 10))


def dropping():
    return mlp(nn.Dropout(0.3))


def cnn():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


class Frozen(nn.Module):
    """Its first layer keeps its first weights; a constant is not in its state."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 16), nn.Linear(16, 10)
        self.first.requires_grad_(False)
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)

    def forward(self, X):
        return self.last(torch.relu(self.first(X)) * self.scale)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.again, self.last = self.first, nn.Linear(64, 10)

    def forward(self, X):
        return self.last(torch.relu(self.again(torch.relu(self.first(X)))))


def network(module=mlp, **params):
    given = {
        **{"criterion": nn.CrossEntropyLoss, "optimizer": torch.optim.Adam, "lr": 0.01},
        **{"max_epochs": 4, "batch_size": 16, "iterator_train__shuffle": True},
        **{"train_split": None, "classes": list(range(10))},
    }
    return skorch.NeuralNetClassifier(module, **(given | params))


def poll(teachers, X=X, y=Y, X_public=X_PUBLIC, **params):
    given = {"n_teachers": 12, "classes": range(10), "random_state": 0, "keep_teachers": True}
    return PATEClassifier(teachers, **(given | params)).poll(X, y, X_public)


def assert_alike(one, together, tolerance=1e-4, shape=(-1, 64)):
    assert np.array_equal(one.counts, together.counts)
    for a, b in zip(one.teachers, together.teachers, strict=True):
        assert (a is None) == (b is None)
        if a is None:
            continue
        state, other = a.module_.state_dict(), b.module_.state_dict()
        assert list(state) == list(other)
        for name, value in state.items():
            torch.testing.assert_close(other[name], value, atol=tolerance, rtol=0)
        rows = X_PUBLIC.reshape(shape)
        assert np.array_equal(a.predict(rows), b.predict(rows))
        assert np.array_equal(a.classes_, b.classes_)


# --- the same teachers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "net",
    [
        network(),
        network(cnn),
        network(Frozen),
        network(Tied),
        network(train_split=skorch.dataset.ValidSplit(5)),
        network(train_split=skorch.dataset.ValidSplit(0.3, stratified=True, random_state=0)),
        network(iterator_train__shuffle=False),
        network(iterator_train__drop_last=True),
        network(iterator_train__batch_size=50, iterator_valid__batch_size=7),
        network(optimizer=torch.optim.SGD, optimizer__momentum=0.9, lr=0.1),
        network(optimizer=torch.optim.AdamW, optimizer__weight_decay=0.1),
        network(optimizer=torch.optim.RMSprop),
        network(lambda: mlp().append(nn.Softmax(dim=1)), criterion=nn.NLLLoss),
        network(criterion__weight=torch.arange(1.0, 11.0)),
        network(criterion__label_smoothing=0.1),
        network(callbacks="disable"),
        network(max_epochs=0),
    ],
    ids=[
        "adam",
        "convolutions",
        "frozen",
        "tied",
        "validated",
        "stratified",
        "in order",
        "drop last",
        "batch sizes",
        "momentum",
        "decay",
        "rmsprop",
        "nll",
        "weights",
        "smoothing",
        "no callbacks",
        "no epochs",
    ],
)
def test_together_as_one_by_one(net):
    few = {"X": X[:500], "y": Y[:500], "n_teachers": 5}
    assert_alike(poll(net, **few), poll(BatchedTeachers(net), **few))


@pytest.fixture(scope="module")
def one_by_one():
    return poll(network())


@pytest.mark.parametrize("max_teachers", [1, 5, 100])
def test_chunks_do_not_matter(one_by_one, max_teachers):
    assert_alike(one_by_one, poll(BatchedTeachers(network(), max_teachers=max_teachers)))


def test_parts_of_many_sizes_and_of_one_class():
    groups = np.repeat(np.arange(24), np.arange(24) * 4 + 4)
    y = np.where(groups == 5, 3, Y)
    given = {"unit": "group", "partition": "predefined"}
    votes = []
    for net in (network(), BatchedTeachers(network(), max_teachers=8)):
        clf = PATEClassifier(net, classes=range(10), random_state=0, keep_teachers=True, **given)
        votes.append(clf.poll(X, y, X_PUBLIC, groups=groups))
    assert_alike(*votes)
    assert votes[1].teachers[sorted(map(str, range(24))).index("5")] is None


def test_probabilities():
    for net in (
        network(),
        network(lambda: mlp().append(nn.Softmax(dim=1)), criterion=nn.NLLLoss),
    ):
        one, together = (
            poll(teachers, aggregator=SoftVote(1.0, temperature=2.0))
            for teachers in (net, BatchedTeachers(net))
        )
        np.testing.assert_allclose(one.counts, together.counts, atol=1e-4)
        assert not np.array_equal(together.counts, np.round(together.counts))


def test_images():
    net = network(lambda: nn.Sequential(nn.Flatten(), mlp()))
    images, public = X.reshape(-1, 1, 8, 8), X_PUBLIC.reshape(-1, 1, 8, 8)
    assert_alike(
        *(poll(teachers, images, X_public=public) for teachers in (net, BatchedTeachers(net))),
        shape=(-1, 1, 8, 8),
    )


def moving():
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), RandomAffine(shift=0.02), nn.Flatten(), mlp())


@pytest.mark.filterwarnings("error")  # torch warns of what it would do one by one
@pytest.mark.parametrize("module", [dropping, moving])
def test_random_layers_draw_other_numbers_and_learn_as_well(module):
    net = network(module, max_epochs=20)
    right = [
        np.mean([t.predict(X_PUBLIC) == DIGITS_Y[1200:1500] for t in votes.teachers])
        for votes in (poll(net), poll(BatchedTeachers(net)), poll(BatchedTeachers(net)))
    ]
    assert abs(right[0] - right[1]) < 0.03 and right[0] > 0.7
    assert right[1] == right[2]  # a seed fixes them


@pytest.mark.parametrize("module", [dropping, mlp])
@pytest.mark.parametrize(
    "change", ["relabel", "one class", "fewer steps", "more steps", "no records", "memory"]
)
def test_a_teacher_that_changes_moves_no_other_not_even_by_rounding(module, change, tmp_path):
    y, rows = Y.copy(), np.arange(1200)
    of_it = np.flatnonzero(np.arange(1200) % 12 == 3)
    given = {"memory": tmp_path} if change == "memory" else {}
    if change == "relabel":
        y[of_it[0]] = (y[of_it[0]] + 1) % 10
    elif change == "one class":
        y[of_it] = 7
    elif change == "fewer steps":
        rows = np.setdiff1d(rows, of_it[70:])
    elif change == "more steps":
        rows = np.append(rows, np.repeat(of_it, 2))
    elif change == "no records":
        rows = np.setdiff1d(rows, of_it)
    votes = []
    split = skorch.dataset.ValidSplit(5, stratified=True)  # sizes depend on labels
    net = network(module, train_split=split, max_epochs=2)
    for labels, some in ((Y, np.arange(1200)), (y, rows)):
        _, teachers = collect_votes(
            [BatchedTeachers(net, max_teachers=8)],
            X[some],
            labels[some],
            X_PUBLIC,
            teacher_indices=some % 12,
            n_teachers=12,
            n_classes=10,
            keep_teachers=True,
            seed=np.random.SeedSequence(0),
            memory=private_memory(given.get("memory")),
        )
        votes.append([None if t is None else t.module_.state_dict() for t in teachers])
    for i, (before, after) in enumerate(zip(*votes, strict=True)):
        if i == 3 and change in ("one class", "no records"):
            assert after is None
        same = after is not None and all(torch.equal(before[n], after[n]) for n in before)
        assert same or i == 3
        assert not same or i != 3 or change == "memory"


def test_teachers_start_from_weights_of_their_own():
    teachers = poll(BatchedTeachers(network(max_epochs=0))).teachers
    first = [teacher.module_[0].weight for teacher in teachers]
    assert all(not torch.equal(first[0], other) for other in first[1:])


def test_the_callers_random_numbers_are_left_alone(capsys, monkeypatch):
    state, on_gpu = torch.random.get_rng_state(), []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", on_gpu.append)
    poll(BatchedTeachers(network(verbose=1)))
    assert torch.equal(state, torch.random.get_rng_state())
    assert capsys.readouterr().out == ""
    if torch.cuda.is_available():  # what a GPU starts from, once it is first used
        assert on_gpu[-1] == torch.initial_seed()
    else:
        assert not on_gpu


def test_autocast_is_less_precise_and_no_worse():
    net = network(max_epochs=20)
    exact, rough = (poll(BatchedTeachers(net, autocast=cast)) for cast in (None, "bfloat16"))
    assert not torch.equal(exact.teachers[0].module_[0].weight, rough.teachers[0].module_[0].weight)
    right = [
        np.mean([t.predict(X_PUBLIC) == DIGITS_Y[1200:1500] for t in votes.teachers])
        for votes in (exact, rough)
    ]
    assert abs(right[0] - right[1]) < 0.03


# --- inside PATEClassifier -----------------------------------------------------------------------


def test_as_teachers_and_student():
    clf = PATEClassifier(
        BatchedTeachers(network(max_epochs=15)),
        n_teachers=12,
        n_queries=200,
        aggregator=PluralityVote(),
        epsilon=None,
        classes=[f"digit {i}" for i in range(10)],
        random_state=0,
        n_jobs=2,
    )
    names = np.char.add("digit ", Y.astype(str))
    clf = clone(clf).set_params(base_estimator__estimator__lr=0.02).fit(X, names, X_PUBLIC)
    assert clf.score(DIGITS[1500:], np.char.add("digit ", DIGITS_Y[1500:].astype(str))) > 0.7
    assert isinstance(clf.student_, BatchedTeachers) and is_classifier(clf.student_)
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert again.predict_proba(X).shape == (1200, 10)


def test_memory_keeps_finished_teachers(tmp_path, monkeypatch):
    net, trained = BatchedTeachers(network(), max_teachers=4), []
    step = batched._Stack.__init__

    def counting(self, networks, *args):
        trained.append(len(set(networks)))
        step(self, networks, *args)

    first = poll(net, memory=tmp_path)
    monkeypatch.setattr(batched._Stack, "__init__", counting)
    again = poll(net, memory=tmp_path)
    assert sum(trained) == 2  # the two that are tried on public rows
    assert_alike(first, again, tolerance=0)
    poll(net, y=(Y + 1) % 10, memory=tmp_path)
    assert sum(trained) == 4 + 12


def test_half_as_many_when_memory_does_not_suffice(monkeypatch):
    tried, fitting = [], BatchedTeachers._stack_size

    def fits(network, rows, size, device):
        assert rows.shape == (16, 64) and np.isin(rows.numpy(), X_PUBLIC).all()
        tried.append(size)
        return size <= 3

    class OnGPU(BatchedTeachers):
        """Chooses as on a GPU, and trains on the CPU."""

        def _stack_size(self, X_query):
            with monkeypatch.context() as patched:
                patched.setattr(torch, "device", lambda _: GPU)
                return fitting(self, X_query)

    class GPU:
        type = "cuda"

    monkeypatch.setattr(
        torch.Tensor,
        "to",
        lambda self, where, *_, to=torch.Tensor.to: self if where is GPU else to(self, where),
    )
    monkeypatch.setattr(batched, "seeded", lambda seed: torch.random.fork_rng([]))
    monkeypatch.setattr(batched, "_fits", fits)
    assert OnGPU(network(), max_teachers=12)._stack_size(X_PUBLIC) == 3
    assert tried == [12, 6, 3]


@pytest.mark.parametrize("error", [torch.cuda.OutOfMemoryError, RuntimeError])
def test_a_step_that_fails_is_one_too_many_and_leaves_nothing(error, monkeypatch):
    stacks = []

    def step(self, *args, taken=batched._Stack.step):
        stacks.append(weakref.ref(self))
        taken(self, *args)
        if len(self.place) > 3:
            raise error

    monkeypatch.setattr(batched._Stack, "step", step)
    monkeypatch.setattr(batched, "_room", lambda device: 1)
    net, rows = batched._initialized(network()), torch.from_numpy(X_PUBLIC[:16])
    gc.disable()  # memory is to be free at once
    try:
        fit = [batched._fits(net, rows, size, torch.device("cpu")) for size in (4, 3)]
        poll(BatchedTeachers(network(max_epochs=1), max_teachers=3))
        alive = [stack for stack in stacks if stack() is not None]
    finally:
        gc.enable()
    assert fit == [False, True]
    assert len(stacks) > 6 and not alive


class Failing(nn.Linear):
    def forward(self, X):
        if len(X) > 8:  # more than are tried on public rows
            raise ValueError(f"'{SECRET}' in it")
        return super().forward(X)


def test_failures_are_told_without_their_text():
    net = network(Failing, module__in_features=64, module__out_features=10)
    with pytest.raises(
        TeacherError, match=r"teacher \d+ failed: or one trained with it: ValueError"
    ) as caught:
        poll(BatchedTeachers(net))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_interrupt_stays_one(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt(SECRET)

    monkeypatch.setattr(batched, "_epoch", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        poll(BatchedTeachers(network()))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_on_a_gpu_without_being_asked(monkeypatch):
    monkeypatch.setattr(BatchedTeachers, "_trial", lambda self, X_query: None)
    assert isinstance(batched_network([network(device="cuda")], X, X_PUBLIC, None), BatchedTeachers)
    assert batched_network([network(device="cuda")] * 2, X, X_PUBLIC, None) is None
    assert batched_network([network()], X, X_PUBLIC, None) is None
    assert batched_network([GaussianNB()], X, X_PUBLIC, None) is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_what_fails_on_the_device_is_found_before_teachers_train():
    with pytest.warns(UserWarning, match="one by one, not together: they failed when tried"):
        assert batched_network([network(device="cuda")], X, X_PUBLIC, None) is None


@pytest.mark.parametrize(
    "settings",
    [
        *({"optimizer": optimizer} for optimizer in ELEMENTWISE),
        {"criterion": nn.NLLLoss},
        {"criterion__weight": torch.ones(10)},
    ],
    ids=lambda settings: " ".join(getattr(v, "__name__", k) for k, v in settings.items()),
)
def test_all_of_a_step_is_on_the_teachers_device(settings):
    device = torch.device("meta")  # has no numbers, and refuses to meet another device
    with pytest.raises(RuntimeError, match="not on the expected device"):
        torch.ones(2, device=device) + torch.ones(2)
    networks = [batched._initialized(network(Frozen, **settings)) for _ in range(3)]
    stack = batched._Stack(networks, [1, 2, 2], device)
    labels = torch.zeros(3, 8, dtype=torch.int64, device=device)
    for k in range(2):
        stack.step(torch.zeros(3, 8, 64, device=device), labels, labels + 1.0, k)
    assert {value.device for value in stack.state(2).values()} == {device}


def test_rows_are_where_there_is_room_for_them(monkeypatch):
    trained, moved = [], []

    def step(self, X, y, mask, k, step=batched._Stack.step):
        trained.append((X.sum().item(), y.sum().item(), mask.sum().item()))
        step(self, X, y, mask, k)

    class GPU:
        type = "cuda"

    def to(self, where, *args, to=torch.Tensor.to):
        if where is GPU:
            moved.append(self.nbytes)
        return to(self, "cpu" if where is GPU else where, *args)

    def train(room):
        monkeypatch.setattr(batched, "_room", lambda device: room)
        moved.clear()
        trained.clear()
        net = network(mlp)
        trainees = [Trainee(i, i, clone(net), X[i::4], Y[i::4]) for i in range(4)]
        members = [batched._Member.of(trainee) for trainee in trainees]
        with monkeypatch.context() as patched:
            patched.setattr(torch, "device", lambda _: GPU)
            list(BatchedTeachers(net)._train_stack(members, X_PUBLIC, False, False))
        return list(trained), max(moved)

    monkeypatch.setattr(batched._Stack, "step", step)
    monkeypatch.setattr(torch.Tensor, "to", to)
    monkeypatch.setattr(nn.Module, "to", lambda self, where: self)
    monkeypatch.setattr(batched, "seeded", lambda seed: torch.random.fork_rng([]))
    (there, most), (here, less) = train(X.nbytes + Y.nbytes), train(X.nbytes + Y.nbytes - 1)
    assert there and there == here
    assert most == X.nbytes > less


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_as_on_a_cpu():
    one = poll(network(cnn))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it must not fall back
        together = poll(network(cnn, device="cuda"))
    moved = np.abs(one.counts - together.counts).sum() / 2
    assert moved <= 0.005 * one.counts.sum()


# --- what cannot be batched ----------------------------------------------------------------------


class Own(skorch.NeuralNetClassifier):
    def train_step(self, batch, **params):
        return super().train_step(batch, **params)


class Momentum(nn.Linear):
    """Remembers, outside its parameters, how often it was used."""

    def __init__(self):
        super().__init__(64, 10)
        self.register_buffer("used", torch.zeros(()))

    def forward(self, X):
        self.used += 1
        return super().forward(X)


class Together(nn.Linear):
    def forward(self, X):
        return super().forward(X - X.mean(dim=0))


def other(**params):
    return Own(mlp, criterion=nn.CrossEntropyLoss, classes=list(range(10)), **params)


@pytest.mark.parametrize(
    "net, reason",
    [
        (network(lambda: mlp(nn.BatchNorm1d(16))), "rows of a batch influence each other"),
        (network(lambda: mlp(nn.BatchNorm1d(16, track_running_stats=False))), "influence"),
        (network(Together, module__in_features=64, module__out_features=10), "influence"),
        (network(Momentum), "buffers change in training"),
        (other(), "Own overrides train_step"),
        (network(callbacks=[("stop", skorch.callbacks.EarlyStopping("train_loss"))]), "callbacks"),
        (network(criterion=nn.MultiMarginLoss), "criterion"),
        (network(criterion__reduction="sum"), "criterion__reduction"),
        (network(optimizer=torch.optim.Rprop), "optimizer"),
        (network(batch_size=-1), "batch_size"),
        (network(optimizer__param_groups=[("0*", {"lr": 0.1})]), "optimizer__param_groups"),
        (network(predict_nonlinearity=lambda output: -output), "predict_nonlinearity"),
        (network(iterator_train__sampler=range(20), iterator_train__shuffle=False), "sampler"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_falls_back_in_one_line(net, reason):
    given = {"X": X[:300], "y": Y[:300], "n_teachers": 3, "random_state": 0}
    with pytest.warns(UserWarning, match="one by one, not together") as caught:
        votes = poll(BatchedTeachers(net), **given)
    assert len(caught) == 1 and reason in str(caught[0].message)
    assert caught[0].filename == __file__
    assert np.array_equal(votes.counts, poll(net, **given).counts)
    with parallel_config(backend="threading"), pytest.raises(TeacherError):
        poll(network(nn.Identity), **given)  # and failures are failures still


def load(name):
    rows = slice(int(name) * 100, int(name) * 100 + 100)
    return X[rows], Y[rows]


def test_sites_are_not_brought_together():
    given = {"X": Sites(load, list("01234")), "y": None, "n_teachers": 5, "keep_teachers": False}
    with pytest.warns(UserWarning, match="the data of sites stay with their workers"):
        votes = poll(BatchedTeachers(network()), **given)
    assert np.array_equal(votes.counts, poll(network(), **given).counts)


@pytest.mark.parametrize(
    "teachers, X_public, reason",
    [
        ([BatchedTeachers(network())] * 2, X_PUBLIC, "base_estimator is a list"),
        (BatchedTeachers(network()), X_PUBLIC.astype(float), "failed when tried together"),
        (BatchedTeachers(LogisticRegression()), X_PUBLIC, "got LogisticRegression"),
    ],
    ids=["list", "float64", "no network"],
)
def test_falls_back_for_what_it_is_given(teachers, X_public, reason):
    with pytest.warns(UserWarning, match=reason):
        if X_public.dtype == float:
            with pytest.raises(TeacherError, match="RuntimeError"):
                poll(teachers, X.astype(float), X_public=X_public, n_teachers=3)
        else:
            assert poll(teachers, X_public=X_public, n_teachers=3).counts.sum() == 900
