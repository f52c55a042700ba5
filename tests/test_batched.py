"""Teachers trained together: same seeds, batches and votes as one by one, or else that way.

In float32 a sum depends on the order of its terms, so weights agree within 1e-4 after some epochs,
and a vote may differ where a teacher is that undecided; here none does.
"""

import traceback
import warnings

import numpy as np
import pytest
from conftest import IN_THREADS, cases, collect_votes, note_calls, table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.runtime.memory import private_memory
from sklearn_pate.teachers import Sites
from sklearn_pate.teachers.training import batched_network

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")

from torch import nn  # noqa: E402

from sklearn_pate.teachers import batched  # noqa: E402
from sklearn_pate.teachers.batched import BatchedTeachers  # noqa: E402

pytestmark = [IN_THREADS, pytest.mark.usefixtures("one_thread")]
DIGITS, DIGITS_Y = load_digits(return_X_y=True)
DIGITS = (DIGITS / 16).astype(np.float32)
X, Y, X_PUBLIC = DIGITS[:1200], DIGITS_Y[:1200], DIGITS[1200:1500]
SECRET = "s3cr3t"


def mlp(*more):
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), *more, nn.Linear(16, 10))


def dropping():
    return mlp(nn.Dropout(0.3))


def cnn():
    convolution = nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), *convolution, nn.Flatten(), nn.Linear(64, 10))


def tied():
    twice = nn.Linear(64, 64), nn.ReLU()
    return nn.Sequential(*twice, *twice, nn.Linear(64, 10))


class Frozen(nn.Module):
    """Its first layer keeps its first weights; a constant is not in its state."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 16), nn.Linear(16, 10)
        self.first.requires_grad_(False)
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)

    def forward(self, X):
        return self.last(torch.relu(self.first(X)) * self.scale)


def network(module=mlp, **params):
    given = {"criterion": nn.CrossEntropyLoss, "optimizer": torch.optim.Adam, "lr": 0.01}
    given |= {"max_epochs": 3, "batch_size": 16, "iterator_train__shuffle": True}
    given |= {"train_split": None, "classes": list(range(10))}
    return skorch.NeuralNetClassifier(module, **(given | params))


def poll(teachers, X=X, y=Y, X_public=X_PUBLIC, **params):
    given = {"n_teachers": 12, "classes": range(10), "random_state": 0, "keep_teachers": True}
    return PATEClassifier(teachers, **(given | params)).poll(X, y, X_public)


def assert_alike(one, together, tolerance=1e-4):
    assert np.array_equal(one.counts, together.counts)
    assert [t is None for t in one.teachers] == [t is None for t in together.teachers]
    for a, b in zip(filter(None, one.teachers), filter(None, together.teachers), strict=True):
        states = dict(b.module_.state_dict()), dict(a.module_.state_dict())
        torch.testing.assert_close(*states, atol=tolerance, rtol=0)
        assert np.array_equal(a.predict(X_PUBLIC), b.predict(X_PUBLIC))
        assert np.array_equal(a.classes_, b.classes_)


# --- the same teachers ---------------------------------------------------------------------------


#: Networks that train together: the layers that only one of them has.
NETWORKS = {
    "convolutions": network(cnn),
    "frozen": network(Frozen),
    "tied": network(tied),
    "validated": network(train_split=skorch.dataset.ValidSplit(5)),
    "in order": network(iterator_train__shuffle=False),
    "drop last": network(iterator_train__drop_last=True),
    "batch sizes": network(iterator_train__batch_size=50, iterator_valid__batch_size=7),
    "momentum": network(optimizer=torch.optim.SGD, optimizer__momentum=0.9, lr=0.1),
    "nll": network(lambda: mlp().append(nn.Softmax(dim=1)), criterion=nn.NLLLoss),
    "weights": network(criterion__weight=torch.arange(1.0, 11.0)),
    "no epochs": network(max_epochs=0),
}
FEW = {"X": X[:320], "y": Y[:320], "n_teachers": 4}


@pytest.mark.slow
def test_batched_teachers_equal_teachers_trained_alone():
    assert_alike(poll(network(), **FEW), poll(BatchedTeachers(network()), **FEW))


@pytest.mark.slow
@table("net", NETWORKS)
def test_batched_teachers_of_each_network_equal_teachers_trained_alone(net):
    together = BatchedTeachers(net, max_teachers=3)  # two chunks
    assert_alike(poll(net, **FEW), poll(together, **FEW))


@pytest.mark.slow
def test_batched_teachers_handle_steps_of_many_sizes_and_one_class():
    groups = np.repeat(np.arange(24), np.arange(24) * 4 + 4)
    y = np.where(groups == 5, 3, Y)
    given = {"unit": "group", "partition": "predefined"}
    votes = []
    for net in (network(), BatchedTeachers(network(), max_teachers=8)):
        clf = PATEClassifier(net, classes=range(10), random_state=0, keep_teachers=True, **given)
        votes.append(clf.poll(X, y, X_PUBLIC, groups=groups))
    assert_alike(*votes)
    assert votes[1].teachers[sorted(map(str, range(24))).index("5")] is None


@pytest.mark.slow
def test_batched_teachers_return_the_same_probabilities():
    soft = FEW | {"aggregator": SoftVote(1.0, temperature=2.0)}
    one, together = poll(NETWORKS["nll"], **soft), poll(BatchedTeachers(NETWORKS["nll"]), **soft)
    np.testing.assert_allclose(one.counts, together.counts, atol=1e-4)
    assert not np.array_equal(together.counts, np.round(together.counts))


def test_batched_teachers_train_in_bfloat16_and_keep_float32_weights():
    one = poll(BatchedTeachers(network(cnn)), **FEW)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        other = poll(BatchedTeachers(network(cnn)), **FEW)
    weights = [[*t.module_.parameters()][0] for t in (one.teachers[0], other.teachers[0])]
    assert weights[1].dtype == torch.float32 and not torch.equal(*weights)
    # 8 bits: the weights move by 0.1 in training, and by a tenth of it from rounding
    torch.testing.assert_close(*weights, atol=0.01, rtol=0)
    assert (np.abs(one.counts - other.counts).sum() / 2) <= 0.1 * one.counts.sum()


@pytest.mark.slow
@cases("change", "relabel", "one class", "fewer steps", "more steps", "no records", "memory")
def test_batched_teacher_with_changed_records_changes_no_other(change, tmp_path):
    y, rows = Y.copy(), np.arange(1200)
    of_it = rows[rows % 12 == 3]
    if change == "relabel":
        y[of_it[0]] = (y[of_it[0]] + 1) % 10
    if change == "one class":
        y[of_it] = 7
    changed = {
        "fewer steps": np.setdiff1d(rows, of_it[70:]),
        "more steps": np.append(rows, np.repeat(of_it, 2)),
        "no records": np.setdiff1d(rows, of_it),
    }.get(change, rows)
    given = {"n_teachers": 12, "n_classes": 10, "keep_teachers": True}
    given["memory"] = private_memory(tmp_path if change == "memory" else None)
    split = skorch.dataset.ValidSplit(5, stratified=True)  # sizes depend on labels
    teacher = BatchedTeachers(network(dropping, train_split=split, max_epochs=2), max_teachers=8)
    votes = []
    for labels, some in ((Y, rows), (y, changed)):
        given |= {"teacher_indices": some % 12, "seed": np.random.SeedSequence(0)}
        _, teachers = collect_votes([teacher], X[some], labels[some], X_PUBLIC, **given)
        votes.append([None if t is None else t.module_.state_dict() for t in teachers])
    for i, (before, after) in enumerate(zip(*votes, strict=True)):
        same = after is not None and all(torch.equal(before[n], after[n]) for n in before)
        assert same == (i != 3 or change == "memory")
    assert (votes[1][3] is None) == (change in ("one class", "no records"))


def test_batched_teachers_keep_random_state_of_the_caller(capsys, monkeypatch):
    state, on_gpu = torch.random.get_rng_state(), []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", on_gpu.append)
    poll(BatchedTeachers(network(verbose=1)))
    assert torch.equal(state, torch.random.get_rng_state()) and capsys.readouterr().out == ""
    if torch.cuda.is_available():  # state of a GPU when it is first used
        assert on_gpu[-1] == torch.initial_seed()
    else:
        assert not on_gpu


@pytest.mark.slow
def test_memory_keeps_finished_batched_teachers(tmp_path, monkeypatch):
    net = BatchedTeachers(network(), max_teachers=4)
    first = poll(net, memory=tmp_path)
    n_trained = lambda self, networks, *args: len(set(networks))  # noqa: E731
    trained = note_calls(monkeypatch, batched._Stack, "__init__", n_trained)
    again = poll(net, memory=tmp_path)
    assert sum(trained) == 2  # the two that are tried on public rows
    assert_alike(first, again, tolerance=0)
    poll(net, y=(Y + 1) % 10, memory=tmp_path)
    assert sum(trained) == 4 + 12


class Failing(nn.Linear):
    def forward(self, X):
        if len(X) > 8:  # more than are tried on public rows
            raise ValueError(f"'{SECRET}' in it")
        return super().forward(X)


def test_teacher_error_of_batched_teachers_hides_its_text():
    net = network(Failing, module__in_features=64, module__out_features=10)
    with pytest.raises(
        TeacherError, match=r"teacher \d+ failed: or one trained with it: ValueError"
    ) as caught:
        poll(BatchedTeachers(net))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_interrupt_of_batched_teachers_hides_its_text(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt(SECRET)

    monkeypatch.setattr(batched, "_epoch", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        poll(BatchedTeachers(network()))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_batched_network_is_used_for_one_network_on_a_gpu(monkeypatch):
    monkeypatch.setattr(BatchedTeachers, "_trial", lambda self, X_query: None)
    on_gpu = network(device="cuda")
    assert isinstance(batched_network([on_gpu], X, X_PUBLIC, None), BatchedTeachers)
    for teachers in ([on_gpu] * 2, [network()], [GaussianNB()]):
        assert batched_network(teachers, X, X_PUBLIC, None) is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_batched_network_warns_of_a_device_that_fails_a_dry_run():
    with pytest.warns(UserWarning, match="one by one, not together: a dry run of"):
        assert batched_network([network(device="cuda")], X, X_PUBLIC, None) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_votes_of_a_gpu_equal_votes_of_a_cpu():
    one = poll(network(cnn))
    with warnings.catch_warnings(action="error"):  # it must not fall back
        together = poll(network(cnn, device="cuda"))
    assert (np.abs(one.counts - together.counts).sum() / 2) <= 0.005 * one.counts.sum()


# --- what cannot be batched ----------------------------------------------------------------------


class Own(skorch.NeuralNetClassifier):
    def train_step(self, batch, **params):
        return super().train_step(batch, **params)


class Counts(nn.BatchNorm1d):
    """Remembers, outside its parameters, how often it was used."""

    def forward(self, X):
        self.num_batches_tracked += 1
        return X


ALONE = {
    "rows of a batch influence each other": network(lambda: mlp(nn.BatchNorm1d(16))),
    "buffers change in training": network(lambda: mlp(Counts(16))),
    "Own overrides train_step": Own(mlp, criterion=nn.CrossEntropyLoss, classes=list(range(10))),
    "callbacks": network(callbacks=[("stop", skorch.callbacks.EarlyStopping("train_loss"))]),
    "criterion": network(criterion=nn.MultiMarginLoss),
    "criterion__reduction": network(criterion__reduction="sum"),
    "batch_size": network(batch_size=-1),
    "predict_nonlinearity": network(predict_nonlinearity=lambda output: -output),
    "sampler": network(iterator_train__sampler=range(20), iterator_train__shuffle=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("reason", ALONE)
def test_batched_teachers_fall_back_with_one_warning(reason):
    given = {"X": X[:300], "y": Y[:300], "n_teachers": 3}
    with pytest.warns(UserWarning, match="one by one, not together") as caught:
        votes = poll(BatchedTeachers(ALONE[reason]), **given)
    assert len(caught) == 1 and reason in str(caught[0].message) and caught[0].filename == __file__
    assert np.array_equal(votes.counts, poll(ALONE[reason], **given).counts)


def load(name):
    rows = slice(int(name) * 100, int(name) * 100 + 100)
    return X[rows], Y[rows]


@pytest.mark.slow
def test_batched_teachers_of_sites_are_trained_alone():
    given = {"X": Sites(load, list("01234")), "y": None, "n_teachers": 5, "keep_teachers": False}
    with pytest.warns(UserWarning, match="the data of sites stay with their workers"):
        votes = poll(BatchedTeachers(network()), **given)
    assert np.array_equal(votes.counts, poll(network(), **given).counts)


@cases(
    "teachers, reason",
    ([BatchedTeachers(network())] * 2, "base_estimator is a list"),
    (BatchedTeachers(LogisticRegression()), "got LogisticRegression"),
)
def test_batched_teachers_fall_back_for_lists_and_other_models(teachers, reason):
    with pytest.warns(UserWarning, match=reason):
        assert poll(teachers, n_teachers=3).counts.sum() == 900
