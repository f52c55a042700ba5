"""Neural students: they learn from unlabelled rows, behave like classifiers, and fit into PATE."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from conftest import cases
from joblib import parallel_config
from processes import run_script
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, PluralityVote

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")

from torch import nn  # noqa: E402

from sklearn_pate.neural import RandomAffine, SSGANClassifier, VATClassifier  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
BOTH = [VATClassifier, SSGANClassifier]
MOONS, MOONS_Y = make_moons(1000, noise=0.1, random_state=0)
FEW = np.where(np.arange(1000) < 12, MOONS_Y, -1)
DIGITS, DIGITS_Y = load_digits(return_X_y=True)
DIGITS = (DIGITS / 16).astype(np.float32)


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch):
    """Let an epoch have 5 steps instead of 50: few tests depend on the fitted model."""
    monkeypatch.setattr("sklearn_pate.neural.base._LEAST_STEPS", 5)


@pytest.fixture
def whole_epochs(short_epochs, monkeypatch):
    monkeypatch.setattr("sklearn_pate.neural.base._LEAST_STEPS", 50)


BATCHES = {"batch_size": 32, "unlabeled_batch_size": 32, "lr": 0.01, "random_state": 0}


# Both kinds share the checks
@parametrize_with_checks(
    [VATClassifier(max_epochs=1, **BATCHES)],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "it uses -1 as a class, which marks unlabelled rows here",
        "check_methods_subset_invariance": "float32 sums depend on the batch, by about 1e-7",
    },
)
def test_neural_students_pass_sklearn_checks(estimator, check):
    check(estimator)


# --- learning ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("whole_epochs")
@cases(
    "kind, weights, better",
    (partial(VATClassifier, max_epochs=2), ["vat_weight", "entropy_weight"], 0.03),
    (partial(SSGANClassifier, max_epochs=3), ["unlabeled_weight"], 0.01),
)
def test_neural_students_gain_from_unlabeled_rows(kind, weights, better):
    few = np.where(np.arange(len(DIGITS)) < 80, DIGITS_Y, -1)
    students = (kind(random_state=0, **dict.fromkeys(weights, weight)) for weight in (0.0, 1.0))
    fits = (student.fit(DIGITS, few) for student in students)
    without, with_them = (fit.score(DIGITS[80:], DIGITS_Y[80:]) for fit in fits)
    assert with_them > without + better


@pytest.mark.usefixtures("whole_epochs")
def test_adversarial_step_diverges_more_than_random_ones():
    from sklearn_pate.neural.vat import unit_steps

    net = VATClassifier(max_epochs=5, random_state=0).fit(MOONS, FEW).net_
    net.module_.eval()
    rows = torch.tensor(MOONS[:200], dtype=torch.float32)
    with torch.no_grad():
        log_proba = net.infer(rows).log_softmax(dim=1)

    def divergence(step):
        changed = net.infer(rows + step).log_softmax(dim=1)
        return float((log_proba.exp() * (log_proba - changed)).sum(dim=1).mean().detach())

    torch.manual_seed(0)
    worst = float(net._adversarial(rows, log_proba).detach())
    at_random = [divergence(net.radius * unit_steps(torch.randn_like(rows))) for _ in range(20)]
    assert worst > 1.3 * max(at_random)


# --- a classifier like others ------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_repeat_with_a_seed_and_keep_the_generator(kind):
    state = torch.random.get_rng_state()
    rows = MOONS.astype(np.float32)
    rows.flags.writeable = False  # torch warns of it
    with warnings.catch_warnings(action="error"):
        fits = (kind(max_epochs=2, random_state=seed).fit(rows, FEW) for seed in (0, 0, 1))
        first, again, other = (fit.predict_proba(rows) for fit in fits)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_accept_labels_of_other_kinds(kind):
    some = np.array(["no", "yes", -1], dtype=object)[FEW]
    assert kind(max_epochs=1).fit(MOONS, some).classes_.tolist() == ["no", "yes"]
    pytest.raises(ValueError, kind().fit, MOONS, some.astype(str)).match(
        "the number -1 marks unlabelled rows"
    )


@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_accept_custom_modules(kind):
    def make(n_outputs=2):
        return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, n_outputs))

    given = make()
    before = copy.deepcopy(given.state_dict())
    for module in (make, partial(make, 7), given, lambda: given):
        clf = kind(module, max_epochs=2, random_state=0).fit(MOONS, FEW)
        assert clf.predict_proba(MOONS).shape == (1000, 2)
    for name, value in given.state_dict().items():  # the inputs do not change
        assert torch.equal(before[name], value)
    with pytest.raises(ValueError, match="at least 2 logits per row; got"):
        kind(partial(make, 1), max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="must be or return a torch.nn.Module; got 3"):
        kind(lambda: 3, max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="no default network"):
        kind(max_epochs=1).fit(MOONS.reshape(-1, 2, 1), FEW)


def test_ssgan_accepts_custom_generators_and_requires_features():
    own = nn.Sequential(nn.Linear(5, 2))
    clf = SSGANClassifier(generator=own, noise_dim=5, max_epochs=1).fit(MOONS, FEW)
    assert clf.net_.module_.generator(torch.zeros(3, 5)).shape == (3, 2)
    with pytest.raises(
        ValueError, match=r"generator must return a batch of shape \(\d+, 2\), like rows of X"
    ):
        SSGANClassifier(generator=nn.Linear(5, 3), noise_dim=5, max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="torch.nn.Linear"):
        SSGANClassifier(nn.BatchNorm1d(2), max_epochs=1).fit(MOONS, FEW)


@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_refuse_wrong_input(kind):
    holed = np.where(MOONS > 1, np.nan, MOONS)
    for params, X, y, match in (
        ({}, MOONS, np.where(FEW == 0, 0, -1), "at least 2 classes"),
        ({}, holed, FEW, "NaN"),
        (
            {"augment": lambda X: X[:, :1]},
            MOONS,
            FEW,
            "augment must return a torch.Tensor with the shape of its input",
        ),
        ({"augment": RandomAffine()}, MOONS, FEW, "RandomAffine requires images"),
    ):
        pytest.raises(ValueError, kind(**{"max_epochs": 1} | params).fit, X, y).match(match)
    images = DIGITS.reshape(-1, 1, 8, 8)
    clf = kind(max_epochs=1).fit(images, DIGITS_Y)
    with pytest.raises(
        ValueError, match=r"shape \(1, 4, 16\), but rows in fit had shape \(1, 8, 8\)"
    ):
        clf.predict(images.reshape(-1, 1, 4, 16))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_vat_classifier_refuses_missing_cuda():
    with pytest.raises((AssertionError, RuntimeError), match="CUDA|NVIDIA"):
        VATClassifier(device="cuda").fit(MOONS, FEW)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_train_on_cuda(kind):
    clf = kind(max_epochs=5, device="cuda", random_state=0).fit(MOONS, FEW)
    assert next(clf.net_.module_.parameters()).is_cuda and clf.score(MOONS, MOONS_Y) > 0.8


@pytest.mark.usefixtures("whole_epochs")
def test_augmentation_is_applied_in_training_only():
    images = torch.rand(8, 1, 12, 12)
    layer = RandomAffine()
    assert not torch.equal(layer(images), images) and torch.equal(layer.eval()(images), images)
    seen = []
    note = lambda X: seen.append(len(X)) or X  # noqa: E731
    clf = VATClassifier(augment=note, max_epochs=1, random_state=0).fit(MOONS, FEW)
    assert seen == [64, 128] * 50
    clf.predict(MOONS)
    assert len(seen) == 100


# --- in PATE -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_neural_students_in_pate_get_all_public_rows_and_classes(kind):
    X, y = make_blobs(1500, centers=4, random_state=0)
    names = np.array(["a", "b", "c", "d"])[y]
    keep = names[:1000] != "c"  # a class that no teacher knows
    given = {"n_teachers": 20, "aggregator": PluralityVote(), "n_queries": 60, "epsilon": None}
    given |= {
        "student": make_pipeline(StandardScaler(), kind(max_epochs=9, lr=0.01)),
        "random_state": 0,
    }
    clf = PATEClassifier(GaussianNB(), classes=["a", "b", "c", "d"], **given)
    clf.fit(X[:1000][keep], names[:1000][keep], X_public=X[1000:1300])
    assert len(clf.student_[-1].net_.history[-1, "batches"]) == 5
    proba = clf.predict_proba(X[1300:])
    assert proba.shape == (200, 4) and (proba[:, 2] == 0).all()
    known = names[1300:] != "c"
    assert clf.score(X[1300:][known], names[1300:][known]) > 0.8


def network(**params):
    given = {"module__in_features": 2, "module__out_features": 2, "lr": 0.5, "max_epochs": 8}
    given |= {"criterion": nn.CrossEntropyLoss, "iterator_train__shuffle": True}
    return skorch.NeuralNetClassifier(nn.Linear, train_split=None, **given | params)


def skorch_pate(**params):
    X = MOONS.astype(np.float32)
    given = {"n_teachers": 12, "aggregator": GNMax(2.0), "n_queries": 50, "epsilon": None}
    given |= {"base_estimator": network(), "classes": [0, 1], "random_state": 0}
    return PATEClassifier(**(given | params)).fit(X[:700], MOONS_Y[:700], X_public=X[700:])


def test_skorch_teachers_vote_the_same_for_any_n_jobs(capsys):
    one = skorch_pate(student=GaussianNB())
    assert capsys.readouterr().out == ""  # skorch's own tables are private
    with parallel_config(backend="multiprocessing"):  # forked, where torch is loaded
        two = skorch_pate(student=GaussianNB(), n_jobs=2, verbose=1)
    assert np.array_equal(one.curator_.votes, two.curator_.votes)
    assert (one.curator_.votes.max(axis=1) < 12).any()  # teachers differ
    shown = capsys.readouterr().out
    assert "teachers 12/12" in shown and "train_loss" not in shown


WITHOUT_TORCH = """
import pickle, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "skorch"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Refuse())
import numpy as np
with open(sys.argv[1], "rb") as file:
    clf, X = pickle.load(file)
print(clf.predict(X).sum(), clf.privacy_spent_.n_teachers, "torch" in sys.modules)
print(clf.base_estimator)
try:
    clf.set_params(epsilon=None).fit(X, np.arange(len(X)) % 2, X.copy())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_pickle_of_the_model_loads_without_torch(tmp_path):
    clf, X = skorch_pate(student=GaussianNB()), MOONS.astype(np.float32)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((clf, X)))
    run = run_script(WITHOUT_TORCH, tmp_path / "model.pkl")
    assert run.returncode == 0, run.stderr
    first, shown, refit = run.stdout.split("\n", 2)
    assert first == f"{clf.predict(X).sum()} 12 False"
    assert shown.startswith("Unavailable(name='NeuralNetClassifier'")
    assert "ImportError: could not be loaded with the model" in refit
