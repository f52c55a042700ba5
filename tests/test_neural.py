"""Neural students: they learn from unlabelled rows, behave like classifiers, and fit into PATE."""

import copy
import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, PluralityVote, SoftVote

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")

from torch import nn  # noqa: E402

from sklearn_pate.neural import RandomAffine, SSGANClassifier, VATClassifier  # noqa: E402

BOTH = [VATClassifier, SSGANClassifier]
MOONS, MOONS_Y = make_moons(1000, noise=0.1, random_state=0)
FEW = np.where(np.arange(1000) < 12, MOONS_Y, -1)
DIGITS, DIGITS_Y = load_digits(return_X_y=True)
DIGITS = (DIGITS / 16).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch):
    """Let an epoch have 5 steps instead of 50: few tests are about what is learned."""
    monkeypatch.setattr("sklearn_pate.neural.training._LEAST_STEPS", 5)


@pytest.fixture
def whole_epochs(short_epochs, monkeypatch):
    monkeypatch.setattr("sklearn_pate.neural.training._LEAST_STEPS", 50)


@parametrize_with_checks(
    [
        kind(max_epochs=1, batch_size=32, unlabeled_batch_size=32, lr=0.01, random_state=0)
        for kind in BOTH
    ],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "it uses -1 as a class, which marks unlabelled rows here",
        "check_methods_subset_invariance": "float32 sums depend on the batch, by about 1e-7",
    },
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# --- learning ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("whole_epochs")
@pytest.mark.parametrize("shape", [(64,), (1, 8, 8)], ids=str)
def test_vat_learns_from_unlabelled_rows(shape):
    X, few = DIGITS.reshape(-1, *shape), np.where(np.arange(len(DIGITS)) < 80, DIGITS_Y, -1)
    scores = {}
    for weight in (0.0, 1.0):
        clf = VATClassifier(vat_weight=weight, entropy_weight=weight, max_epochs=2, random_state=0)
        scores[weight] = clf.fit(X, few).score(X[80:], DIGITS_Y[80:])
    assert scores[1.0] > scores[0.0] + 0.03


@pytest.mark.usefixtures("whole_epochs")
def test_the_gan_learns_from_unlabelled_rows():
    few = np.where(np.arange(len(DIGITS)) < 80, DIGITS_Y, -1)
    scores = {}
    for weight in (0.0, 1.0):
        clf = SSGANClassifier(unlabeled_weight=weight, max_epochs=4, random_state=0)
        scores[weight] = clf.fit(DIGITS, few).score(DIGITS[80:], DIGITS_Y[80:])
    assert scores[1.0] > scores[0.0] + 0.01


@pytest.mark.usefixtures("whole_epochs")
def test_the_adversarial_step_is_worse_than_random_ones():
    from sklearn_pate.neural.vat import unit_steps

    clf = VATClassifier(max_epochs=5, random_state=0).fit(MOONS, FEW)
    net = clf.net_
    net.module_.eval()
    rows = torch.tensor(MOONS[:200], dtype=torch.float32)
    with torch.no_grad():
        log_proba = net.infer(rows).log_softmax(dim=1)

    def divergence(step):
        moved = net.infer(rows + step).log_softmax(dim=1)
        return float((log_proba.exp() * (log_proba - moved)).sum(dim=1).mean().detach())

    torch.manual_seed(0)
    worst = float(net._adversarial(rows, log_proba).detach())
    at_random = [divergence(net.radius * unit_steps(torch.randn_like(rows))) for _ in range(20)]
    assert worst > 1.3 * max(at_random)


def test_steps_have_the_length_of_the_radius():
    clf = VATClassifier(max_epochs=1, random_state=0)
    # rows on a circle of radius 2 are 2 away from their mean
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    assert clf.fit(circle, np.arange(200) % 2).net_.radius == pytest.approx(0.5, rel=1e-6)
    assert clf.set_params(radius=0.1).fit(circle, np.arange(200) % 2).net_.radius == 0.1


@pytest.mark.usefixtures("whole_epochs")
def test_the_generator_stays_in_the_range_of_the_data():
    clf = SSGANClassifier(max_epochs=2, random_state=0).fit(DIGITS.reshape(-1, 1, 8, 8), DIGITS_Y)
    generator = clf.net_.module_.generator.eval()
    with torch.no_grad():
        fakes = generator(torch.randn(64, 100)).numpy()
    assert fakes.shape == (64, 1, 8, 8)
    assert (fakes >= 0).all() and (fakes <= 1).all()
    # nearer to the data's mean than a generator that was not trained
    gap = np.abs(fakes.mean(axis=0) - DIGITS.reshape(-1, 1, 8, 8).mean(axis=0)).mean()
    assert gap < 0.15


# --- a classifier like others ------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_same_seed_same_student_and_nothing_else_changes(kind):
    state = torch.random.get_rng_state()
    first, again, other = (
        kind(max_epochs=2, random_state=seed).fit(MOONS, FEW).predict_proba(MOONS)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())
    assert first.shape == (1000, 2)
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("copied", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
def test_fitted_students_pickle(kind, copied):
    clf = kind(max_epochs=1, random_state=0, verbose=0).fit(MOONS, FEW)
    assert np.array_equal(copied(clf).predict_proba(MOONS), clf.predict_proba(MOONS))


@pytest.mark.parametrize("kind", BOTH)
def test_labels_of_other_kinds(kind):
    assert kind(max_epochs=1).fit(MOONS, np.where(FEW >= 0, FEW + 5, -1)).classes_.tolist() == [
        5,
        6,
    ]
    some = np.array(["no", "yes", -1], dtype=object)[FEW]
    assert kind(max_epochs=1).fit(MOONS, some).classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="the number -1"):
        kind().fit(MOONS, some.astype(str))
    names = np.array(["no", "yes"])[MOONS_Y]
    clf = kind(max_epochs=8, random_state=0).fit(MOONS, names)  # text: all are labelled
    assert clf.score(MOONS, names) > 0.8


@pytest.mark.parametrize("kind", BOTH)
def test_frames_keep_their_names(kind):
    frame = pd.DataFrame(MOONS, columns=["a", "b"])
    clf = kind(max_epochs=1).fit(frame, FEW)
    assert clf.feature_names_in_.tolist() == ["a", "b"] and clf.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["b", "a"]])


@pytest.mark.parametrize("kind", BOTH)
def test_own_modules(kind):
    def make(n_outputs=2):
        return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, n_outputs))

    given = make()
    before = given[0].weight.clone()
    for module in (make, partial(make, 7), given):
        clf = kind(module, max_epochs=2, random_state=0).fit(MOONS, FEW)
        assert clf.predict_proba(MOONS).shape == (1000, 2)
    assert torch.equal(before, given[0].weight)  # what was given is left alone
    with pytest.raises(ValueError, match="at least 2 logits"):
        kind(partial(make, 1), max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="must be or make a torch.nn.Module; got 3"):
        kind(lambda: 3, max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="no default network"):
        kind(max_epochs=1).fit(MOONS.reshape(-1, 2, 1), FEW)


def test_own_generators_and_modules_without_features():
    own = nn.Sequential(nn.Linear(5, 2))
    clf = SSGANClassifier(generator=own, noise_dim=5, max_epochs=1).fit(MOONS, FEW)
    assert clf.net_.module_.generator(torch.zeros(3, 5)).shape == (3, 2)
    with pytest.raises(ValueError, match="generator must make rows"):
        SSGANClassifier(generator=nn.Linear(5, 3), noise_dim=5, max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="torch.nn.Linear"):
        SSGANClassifier(nn.BatchNorm1d(2), max_epochs=1).fit(MOONS, FEW)


@pytest.mark.parametrize("kind", BOTH)
def test_rows_that_are_read_only_are_taken_without_a_warning(kind):
    X, labels = DIGITS[:200].copy(), np.where(np.arange(200) < 50, DIGITS_Y[:200], -1)
    X.flags.writeable = False
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            voted = kind(max_epochs=1, random_state=0).fit(X, labels).predict(X)
    finally:
        torch.set_warn_always(False)
    assert np.array_equal(
        voted, kind(max_epochs=1, random_state=0).fit(X.copy(), labels).predict(X)
    )


@pytest.mark.parametrize("kind", BOTH)
def test_wrong_input_is_refused(kind):
    with pytest.raises(ValueError, match="at least 2 classes"):
        kind().fit(MOONS, np.where(FEW == 0, 0, -1))
    with pytest.raises(ValueError, match="at least 2 classes"):
        kind().fit(MOONS, np.full(1000, -1))
    with pytest.raises(ValueError, match="device='nowhere'"):
        kind(device="nowhere").fit(MOONS, FEW)
    with pytest.raises(ValueError, match="max_epochs"):
        kind(max_epochs=0).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="NaN"):
        kind().fit(np.where(MOONS > 1, np.nan, MOONS), FEW)
    with pytest.raises(ValueError, match="augment must return a batch of the shape"):
        kind(augment=lambda X: X[:, :1], max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(ValueError, match="RandomAffine changes images"):
        kind(augment=RandomAffine(), max_epochs=1).fit(MOONS, FEW)
    with pytest.raises(NotFittedError):
        kind().predict(MOONS)
    images = DIGITS.reshape(-1, 1, 8, 8)
    clf = kind(max_epochs=1).fit(images, DIGITS_Y)
    with pytest.raises(ValueError, match=r"shape \(1, 4, 16\), and those given to fit \(1, 8, 8\)"):
        clf.predict(images.reshape(-1, 1, 4, 16))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        VATClassifier(device="cuda").fit(MOONS, FEW)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("kind", BOTH)
def test_students_on_cuda(kind):
    clf = kind(max_epochs=5, device="cuda", random_state=0).fit(MOONS, FEW)
    assert next(clf.net_.module_.parameters()).is_cuda
    assert clf.score(MOONS, MOONS_Y) > 0.8
    assert np.allclose(
        pickle.loads(pickle.dumps(clf)).predict_proba(MOONS), clf.predict_proba(MOONS)
    )


@pytest.mark.parametrize("kind", BOTH)
def test_progress_is_shown_on_request(kind, capsys):
    kind(max_epochs=2, verbose=1).fit(MOONS, FEW)
    shown = capsys.readouterr().out
    assert "epoch 2/2, loss" in shown and shown.endswith("0 s left  \n")
    kind(max_epochs=2).fit(MOONS, FEW)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("whole_epochs")
def test_augmentation_happens_in_training_only():
    images = torch.rand(8, 1, 12, 12)
    layer = RandomAffine()
    assert not torch.equal(layer(images), images)
    assert torch.equal(layer.eval()(images), images)
    nothing = RandomAffine(degrees=0, shift=0, scale=0, shear=0)
    torch.testing.assert_close(nothing(images), images, atol=1e-5, rtol=0)
    assert "15" in repr(RandomAffine())
    seen = []

    def note(X):
        seen.append(X.shape[0])
        return X

    clf = VATClassifier(augment=note, max_epochs=1, random_state=0).fit(MOONS, FEW)
    assert seen == [64, 128] * 50
    clf.predict(MOONS)
    assert len(seen) == 100


def test_shifts_are_shares_of_the_image():
    torch.manual_seed(0)
    image = torch.zeros(200, 1, 21, 21)
    image[:, :, 10, 10] = 1
    moved = RandomAffine(degrees=0, shift=0.2, scale=0, shear=0)(image)
    columns = (moved.sum(dim=2) * torch.arange(21)).sum(dim=(1, 2)) / moved.sum(dim=(1, 2, 3))
    far = (columns - 10).abs().max()
    assert 3.5 < far <= 0.2 * 21 + 1e-3


# --- in PATE -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("whole_epochs")
@pytest.mark.parametrize("kind", BOTH)
def test_students_of_pate_see_all_public_rows_and_all_classes(kind):
    X, y = make_blobs(1500, centers=4, random_state=0)
    names = np.array(["a", "b", "c", "d"])[y]
    keep = names[:1000] != "c"  # a class that no teacher knows
    student = make_pipeline(StandardScaler(), kind(max_epochs=3))
    clf = PATEClassifier(
        GaussianNB(),
        n_teachers=20,
        student=student,
        aggregator=PluralityVote(),
        n_queries=60,
        epsilon=None,
        classes=["a", "b", "c", "d"],
        random_state=0,
    ).fit(X[:1000][keep], names[:1000][keep], X_public=X[1000:1300])
    assert len(clf.student_[-1].net_.history[-1, "batches"]) == 50
    proba = clf.predict_proba(X[1300:])
    assert proba.shape == (200, 4) and (proba[:, 2] == 0).all()
    known = names[1300:] != "c"
    assert clf.score(X[1300:][known], names[1300:][known]) > 0.8
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(X[1300:]), clf.predict(X[1300:]))


def network(**params):
    return skorch.NeuralNetClassifier(
        nn.Linear,
        module__in_features=2,
        module__out_features=2,
        criterion=nn.CrossEntropyLoss,
        lr=0.5,
        max_epochs=8,
        iterator_train__shuffle=True,
        train_split=None,
        **params,
    )


def skorch_pate(**params):
    X = MOONS.astype(np.float32)
    clf = PATEClassifier(
        **{
            "base_estimator": network(),
            "n_teachers": 12,
            "aggregator": GNMax(2.0),
            "n_queries": 50,
            "epsilon": None,
            "classes": [0, 1],
            "random_state": 0,
            **params,
        }
    )
    return clf.fit(X[:700], MOONS_Y[:700], X_public=X[700:])


def test_skorch_teachers_vote_the_same_for_any_number_of_jobs(capsys):
    state = torch.random.get_rng_state()
    one, two = skorch_pate(student=GaussianNB()), skorch_pate(student=GaussianNB(), n_jobs=2)
    assert np.array_equal(one.curator_.votes, two.curator_.votes)
    assert (one.curator_.votes.max(axis=1) < 12).any()  # teachers differ
    assert torch.equal(state, torch.random.get_rng_state())
    assert capsys.readouterr().out == ""  # skorch's own tables are private
    skorch_pate(verbose=1, student=GaussianNB())
    assert "teachers 12/12" in capsys.readouterr().out


def test_skorch_students_and_parameters():
    first, again = skorch_pate(), skorch_pate()
    X = MOONS.astype(np.float32)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    assert first.score(X, MOONS_Y) > 0.8
    params = first.get_params()
    assert params["base_estimator__module__out_features"] == 2
    other = clone(first).set_params(base_estimator__max_epochs=1, base_estimator__lr=0.1)
    assert other.base_estimator.max_epochs == 1
    pickled = pickle.loads(pickle.dumps(first))
    assert np.array_equal(pickled.predict(X), first.predict(X))
    assert not hasattr(pickled.base_estimator, "module_")


def test_skorch_students_that_saw_one_class_less_and_soft_votes():
    student = network(module__bias=True).set_params(module__out_features=3)
    base = network().set_params(module__out_features=3)
    clf = skorch_pate(base_estimator=base, student=student, classes=[0, 1, 2])
    assert clf.predict_proba(MOONS[:5].astype(np.float32)).shape == (5, 3)
    soft = skorch_pate(
        base_estimator=network(classes=[0, 1]), aggregator=SoftVote(1.0), student=GaussianNB()
    )
    assert soft.public_soft_labels_.shape == (300, 2)


@pytest.mark.parametrize("kind", BOTH)
def test_a_function_that_returns_a_shared_module_is_copied(kind):
    shared = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    before = copy.deepcopy(shared.state_dict())
    kind(lambda: shared, max_epochs=1).fit(MOONS, FEW)
    assert all(torch.equal(before[name], value) for name, value in shared.state_dict().items())


WITHOUT_TORCH = """
import pickle, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "skorch"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Refuse())
import numpy as np
with open(sys.argv[1], "rb") as file:
    clf = pickle.load(file)
X = np.load(sys.argv[2])
print(clf.predict(X).sum(), clf.privacy_spent_.n_teachers, "torch" in sys.modules)
print(clf.base_estimator)
try:
    clf.set_params(epsilon=None).fit(X, np.arange(len(X)) % 2, X.copy())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_model_whose_student_needs_no_torch_loads_without_it(tmp_path):
    clf, X = skorch_pate(student=GaussianNB()), MOONS.astype(np.float32)
    with open(tmp_path / "model.pkl", "wb") as file:
        pickle.dump(clf, file)
    np.save(tmp_path / "X.npy", X)
    command = [sys.executable, "-c", WITHOUT_TORCH, tmp_path / "model.pkl", tmp_path / "X.npy"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    first, shown, refit = run.stdout.split("\n", 2)
    assert first == f"{clf.predict(X).sum()} 12 False"
    assert shown.startswith("Unavailable(name='NeuralNetClassifier'")
    assert "ImportError: could not be loaded with the model" in refit
    again = pickle.loads(pickle.dumps(clf))  # with torch it is all there
    assert type(again.base_estimator) is type(clf.base_estimator)
    assert type(copy.deepcopy(clf).base_estimator) is type(clf.base_estimator)
