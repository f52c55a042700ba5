"""Semi-supervised neural students on skorch: virtual adversarial training, and a GAN."""

import contextlib
import copy
import math
import sys
import time
from numbers import Integral, Real

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import nn
from torch.nn import functional as F

from ._sklearn import Interval, _fit_context, _num_samples

__all__ = ["RandomAffine", "SSGANClassifier", "VATClassifier"]


class _NeuralStudent(ClassifierMixin, BaseEstimator):
    """What both students share: labels with -1, seeds, device, prediction."""

    #: `PATEClassifier` gives all public rows to students that say so.
    accepts_unlabeled = True

    _parameter_constraints: dict = {
        "module": [nn.Module, callable, None],
        "augment": [callable, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "unlabeled_batch_size": [Interval(Integral, 2, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "device": [str, torch.device],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            Numbers, best scaled to a common range.
        y : array-like of shape (n_samples,)
            Labels; the number -1 marks an unlabelled row. Text labels beside it need dtype object.

        Returns
        -------
        object
            Itself, fitted.

        Raises
        ------
        ValueError
            If fewer than two classes are labelled, the device is not there, or the module gives
            fewer outputs than there are classes.
        """
        X, y = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        if y.dtype.kind in "US" and (y == "-1").any():
            raise ValueError(
                'y has the text "-1"; the number -1 marks unlabelled rows: give text labels with '
                "dtype=object, or label codes"
            )
        labelled = np.asarray(y != -1)
        known = np.array(y[labelled].tolist())
        check_classification_targets(known)
        self.classes_, codes = np.unique(known, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has labels of {len(self.classes_)} class, at least 2 classes are needed; -1 "
                "marks unlabelled rows"
            )
        _check_device(self.device)
        self.row_shape_ = X.shape[1:]
        targets = np.full(len(y), -1)
        targets[labelled] = codes
        with _seeded(self.random_state, self.device):
            self.net_ = self._net(X, len(self.classes_)).fit(X, targets)
        return self

    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, allow_nd=True, reset=False)
        if X.shape[1:] != self.row_shape_:
            raise ValueError(
                f"rows of X have shape {X.shape[1:]}, and those given to fit {self.row_shape_}"
            )
        return self.net_.predict_proba(X).astype(np.float64)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _make(self, kind, X, n_classes, generator=None, **params):
        """Return the skorch net, with what both students give it."""
        network = _build(self.module, _default_module(X.shape[1:], n_classes))
        return kind(
            # channels last: twice as fast for convolutions on a CPU
            _Classes(network, n_classes, self.augment, generator).to(
                memory_format=torch.channels_last
            ),
            criterion=nn.CrossEntropyLoss,  # makes probabilities of the outputs
            optimizer=torch.optim.Adam,
            lr=self.lr,
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            unlabeled_batch_size=self.unlabeled_batch_size,
            train_split=None,
            device=self.device,
            verbose=0,
            callbacks=[("progress", _Progress())] if self.verbose else None,
            callbacks__print_log=None,
            **params,
        )


class VATClassifier(_NeuralStudent):
    """Neural classifier trained by virtual adversarial training and entropy minimisation.

    Beside the labelled rows' cross-entropy, it penalises how much the prediction for any row can
    be changed by a small step in the worst direction, and unsure predictions: decision boundaries
    move to where there are no data.

    Parameters
    ----------
    module : torch.nn.Module, callable or None, default=None
        The network: a module, whose weights are where training starts, or a class or function that
        makes one when called without arguments (`functools.partial` gives it
        some). It maps a batch to at least as many logits as there are classes; further ones are
        ignored. None: two hidden layers for tables, three convolutions for images.
    radius : float or None, default=None
        Length of the step, in units of `X`. None: 0.25 times the root mean square distance of the
        rows from their mean, which is 1.8 for MNIST in [0, 1].
    vat_weight, entropy_weight : float, default=1.0
        Weights of the two penalties; that of entropy grows from 0 during training.
    augment : callable or None, default=None
        Changes a batch in a way that keeps its labels, for instance ``RandomAffine()``; applied
        to all rows in training.
    max_epochs : int, default=30
        Passes over the rows of `X`, each of at least 50 steps.
    batch_size, unlabeled_batch_size : int, default=64, 128
        Labelled rows, drawn with replacement, and rows of any kind in one step.
    lr : float, default=0.002
        Learning rate of Adam; it rises over 50 steps, and falls to 0 in the second half.
    device : str, default="cpu"
        Where to train: "cpu", "cuda", ...
    random_state : int, RandomState instance or None, default=None
        Seed of weights, batches and steps.
    verbose : int, default=0
        Above 0, one updating line of progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, without -1.
    net_ : skorch.NeuralNet
        The fitted network.
    n_features_in_ : int
        Number of features, or of channels.
    row_shape_ : tuple of int
        Shape of one row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` had string column names.

    Notes
    -----
    The worst direction is found by one power iteration, from a random step of a third of
    `radius`.

    References
    ----------
    Miyato, Maeda, Koyama, Ishii (2018). Virtual adversarial training: a regularization method for
    supervised and semi-supervised learning. IEEE TPAMI 41(8), algorithm 1 and section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn_pate.neural import VATClassifier
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(500) < 10, y, -1)
    >>> clf = VATClassifier(max_epochs=5, random_state=0).fit(X, few)
    >>> bool(clf.score(X, y) > 0.8)
    True
    """

    _parameter_constraints = {
        **_NeuralStudent._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "vat_weight": [Interval(Real, 0, None, closed="left")],
        "entropy_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        module=None,
        *,
        radius=None,
        vat_weight=1.0,
        entropy_weight=1.0,
        augment=None,
        max_epochs=30,
        batch_size=64,
        unlabeled_batch_size=128,
        lr=0.002,
        device="cpu",
        random_state=None,
        verbose=0,
    ):
        self.module = module
        self.radius = radius
        self.vat_weight = vat_weight
        self.entropy_weight = entropy_weight
        self.augment = augment
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.lr = lr
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _net(self, X, n_classes):
        radius = 0.25 * _spread(X) if self.radius is None else self.radius
        weights = {"vat_weight": self.vat_weight, "entropy_weight": self.entropy_weight}
        return self._make(_VATNet, X, n_classes, radius=float(radius), **weights)


class SSGANClassifier(_NeuralStudent):
    """Classifier that learns to tell classes from each other and from a generator's fakes.

    The discriminator of a generative adversarial network has one output per class and one for
    fakes; unlabelled rows teach it that they belong to some class. The generator matches the mean
    features of real rows, which serves the classifier better than fakes that look real. This is
    the student of PATE-G.

    Parameters
    ----------
    module : torch.nn.Module, callable or None, default=None
        The discriminator: a module, or a class or function that makes one when called without
        arguments. Its last `torch.nn.Linear` gives at least as many logits as there are classes
        (the fakes' is fixed at 0), and what enters that layer are the features that the generator
        matches. None: two hidden layers for tables, three convolutions for images.
    generator : torch.nn.Module, callable or None, default=None
        Maps noise of shape (n, noise_dim) to rows like those of `X`. None: two hidden layers, with
        outputs in the range of each feature.
    noise_dim : int, default=100
        Length of the generator's noise.
    unlabeled_weight : float, default=1.0
        Weight of telling real rows from fakes.
    augment : callable or None, default=None
        Changes a batch in a way that keeps its labels, for instance ``RandomAffine()``; applied to
        real rows in training.
    max_epochs : int, default=30
        Passes over the rows of `X`, each of at least 50 steps.
    batch_size, unlabeled_batch_size : int, default=64, 128
        Labelled rows, drawn with replacement, and rows of any kind in one step.
    lr : float, default=0.003
        Learning rate of Adam; it rises over 50 steps, and falls to 0 in the second half.
    device : str, default="cpu"
        Where to train: "cpu", "cuda", ...
    random_state : int, RandomState instance or None, default=None
        Seed of weights, batches and noise.
    verbose : int, default=0
        Above 0, one updating line of progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, without -1.
    net_ : skorch.NeuralNet
        The fitted networks; `net_.module_.generator` is the generator.
    n_features_in_ : int
        Number of features, or of channels.
    row_shape_ : tuple of int
        Shape of one row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` had string column names.

    References
    ----------
    Salimans, Goodfellow, Zaremba, Cheung, Radford, Chen (2016). Improved techniques for training
    GANs. NeurIPS, sections 3.1 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_pate.neural import SSGANClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 100, y, -1)
    >>> clf = SSGANClassifier(max_epochs=3, random_state=0).fit(X / 16, few)
    >>> bool(clf.score(X / 16, y) > 0.8)
    True
    """

    _parameter_constraints = {
        **_NeuralStudent._parameter_constraints,
        "generator": [nn.Module, callable, None],
        "noise_dim": [Interval(Integral, 1, None, closed="left")],
        "unlabeled_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        module=None,
        *,
        generator=None,
        noise_dim=100,
        unlabeled_weight=1.0,
        augment=None,
        max_epochs=30,
        batch_size=64,
        unlabeled_batch_size=128,
        lr=0.003,
        device="cpu",
        random_state=None,
        verbose=0,
    ):
        self.module = module
        self.generator = generator
        self.noise_dim = noise_dim
        self.unlabeled_weight = unlabeled_weight
        self.augment = augment
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.lr = lr
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _net(self, X, n_classes):
        generator = _build(self.generator, lambda: _Generator(X, self.noise_dim))
        params = {"noise_dim": self.noise_dim, "unlabeled_weight": self.unlabeled_weight}
        return self._make(_GANNet, X, n_classes, generator=generator, **params)


class RandomAffine(nn.Module):
    """Rotate, shift, scale and shear each image of a batch a little: labels of digits survive.

    As a layer of a network it works in training only.

    Parameters
    ----------
    degrees : float, default=15
        Largest rotation, in degrees.
    shift : float, default=0.07
        Largest shift, as a share of the image's height and width.
    scale : float, default=0.1
        Largest relative change of size.
    shear : float, default=0.2
        Largest shear.

    Examples
    --------
    >>> import torch
    >>> from sklearn_pate.neural import RandomAffine
    >>> RandomAffine()(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 1, 28, 28])
    """

    def __init__(self, degrees=15, shift=0.07, scale=0.1, shear=0.2):
        super().__init__()
        self.degrees = degrees
        self.shift = shift
        self.scale = scale
        self.shear = shear

    def extra_repr(self):
        """Parameters, for the repr."""
        return f"{self.degrees}, {self.shift}, {self.scale}, {self.shear}"

    def forward(self, X):
        """Return changed copies of images of shape (n, channels, height, width)."""
        if X.ndim != 4:
            raise ValueError(
                "RandomAffine changes images of shape (n, channels, height, width); got a batch of "
                f"shape {tuple(X.shape)}"
            )
        if not self.training:
            return X

        def uniform(most):
            return (torch.rand(len(X), device=X.device) * 2 - 1) * most

        angle, size = uniform(math.radians(self.degrees)), 1 + uniform(self.scale)
        cos, sin = angle.cos() * size, angle.sin() * size
        across = torch.stack([cos, uniform(self.shear) - sin, uniform(2 * self.shift)], dim=1)
        down = torch.stack([sin, cos, uniform(2 * self.shift)], dim=1)
        # F.affine_grid, in steps that torch.func.vmap knows: teachers may be trained together
        y, x = (torch.linspace(-1, 1, n, device=X.device) * (n - 1) / n for n in X.shape[2:])
        points = torch.stack(torch.broadcast_tensors(x, y[:, None], torch.ones_like(x)), dim=-1)
        grid = points.flatten(0, 1) @ torch.stack([across, down], dim=2)
        return F.grid_sample(X, grid.unflatten(1, points.shape[:2]), align_corners=False)


# --- training ----------------------------------------------------------------------------------


class _SemiSupervisedNet(NeuralNet):
    """A skorch net whose batches are labelled rows, their targets, and rows of any kind."""

    def __init__(self, *args, unlabeled_batch_size=128, **kwargs):
        super().__init__(*args, **kwargs)
        self.unlabeled_batch_size = unlabeled_batch_size

    def get_iterator(self, dataset, training=False):
        """Return pairs of batches in training, and plain ones else."""
        if training:
            return _Batches(dataset.X, dataset.y, self.batch_size, self.unlabeled_batch_size)
        # not a DataLoader, which draws from torch's random numbers even if it does not shuffle
        X = dataset.X  # a copy of each part: torch warns of arrays that are read-only
        return ((torch.from_numpy(np.array(X[i : i + 1024])), None) for i in range(0, len(X), 1024))

    def on_train_begin(self, *args, **kwargs):
        """Forget the steps of an earlier training."""
        super().on_train_begin(*args, **kwargs)
        self.n_steps_ = 0

    def _prepare(self, batch):
        """Move a batch to the device, augment it, and set the learning rate of this step."""
        labelled, targets, rows = (tensor.to(self.device) for tensor in batch)
        if self.module_.augment is not None:
            labelled, rows = self._augmented(labelled), self._augmented(rows)
        done = self.n_steps_ / (self.max_epochs * self.steps_per_epoch_)
        for name in [
            name for name in vars(self) if name.startswith("optimizer") and name[-1] == "_"
        ]:
            for group in getattr(self, name).param_groups:
                group["lr"] = self.lr * min(1, (self.n_steps_ + 1) / 50) * min(1, 2 * (1 - done))
        self.n_steps_ += 1
        return labelled, targets, rows

    def _augmented(self, rows):
        changed = self.module_.augment(rows)
        if not isinstance(changed, torch.Tensor) or changed.shape != rows.shape:
            raise ValueError(
                f"augment must return a batch of the shape that it is given, {tuple(rows.shape)}; "
                f"got {tuple(getattr(changed, 'shape', ())) or type(changed).__name__}"
            )
        return changed

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train; needs the number of steps for the learning rate."""
        self.steps_per_epoch_ = len(_Batches(X, y, self.batch_size, self.unlabeled_batch_size))
        return super().fit_loop(X, y, epochs=epochs, **fit_params)


class _VATNet(_SemiSupervisedNet):
    def __init__(self, *args, radius=1.0, vat_weight=1.0, entropy_weight=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.radius = radius
        self.vat_weight = vat_weight
        self.entropy_weight = entropy_weight

    def train_step_single(self, batch, **fit_params):
        self._set_training(True)
        labelled, targets, rows = self._prepare(batch)
        loss = F.cross_entropy(self.infer(labelled), targets)
        log_proba = self.infer(rows).log_softmax(dim=1)
        if self.entropy_weight:
            entropy = -(log_proba.exp() * log_proba).sum(dim=1).mean()
            ramp = self.n_steps_ / (self.max_epochs * self.steps_per_epoch_)
            loss = loss + ramp * self.entropy_weight * entropy
        if self.vat_weight:
            loss = loss + self.vat_weight * self._adversarial(rows, log_proba.detach())
        loss.backward()
        return {"loss": loss, "y_pred": None}

    def _adversarial(self, rows, log_proba):
        """Mean divergence to the prediction after the worst step (Miyato et al., algorithm 1)."""

        def divergence(step):
            moved = self.infer(rows + step).log_softmax(dim=1)
            return (log_proba.exp() * (log_proba - moved)).sum(dim=1).mean()

        step = (_unit(torch.randn_like(rows)) * self.radius / 3).requires_grad_()
        (direction,) = torch.autograd.grad(divergence(step), step)
        return divergence(self.radius * _unit(direction))


class _GANNet(_SemiSupervisedNet):
    def __init__(self, *args, noise_dim=100, unlabeled_weight=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.noise_dim = noise_dim
        self.unlabeled_weight = unlabeled_weight

    def initialize_optimizer(self, *args, **kwargs):
        parts = self.module_.network, self.module_.generator
        self.optimizer_, self.optimizer_generator_ = (
            self.optimizer(part.parameters(), lr=self.lr, betas=(0.5, 0.999)) for part in parts
        )
        return self

    def train_step(self, batch, **fit_params):
        self._set_training(True)
        labelled, targets, rows = self._prepare(batch)
        noise = torch.randn(len(rows), self.noise_dim, device=rows.device)
        fakes = self.module_.generator(noise)
        if fakes.shape != rows.shape:
            raise ValueError(
                f"generator must make rows like those of X from noise of shape {tuple(noise.shape)}"
                f": a batch of shape {tuple(rows.shape)}; got {tuple(fakes.shape)}"
            )
        # In one batch, lest batch normalisation tell real rows from fakes
        logits = self.module_(torch.cat([labelled, rows, fakes.detach()]))
        known, real, fake = logits.split([len(labelled), len(rows), len(fakes)])
        # A row is real with odds of the sum of exp(logits) to 1
        told = F.softplus(-real.logsumexp(dim=1)).mean() + F.softplus(fake.logsumexp(dim=1)).mean()
        loss = F.cross_entropy(known, targets) + self.unlabeled_weight * told / 2
        self.optimizer_.zero_grad()
        loss.backward()
        self.optimizer_.step()

        features = self.module_.features(torch.cat([rows, fakes]))
        wanted, got = features.split([len(rows), len(fakes)])
        gap = (got.mean(dim=0) - wanted.mean(dim=0)).square().mean()
        self.optimizer_generator_.zero_grad()
        gap.backward(inputs=list(self.module_.generator.parameters()))
        self.optimizer_generator_.step()
        return {"loss": loss, "y_pred": None}


class _Batches:
    """Batches of labelled rows, drawn with replacement, beside batches of all rows."""

    def __init__(self, X, y, batch_size, unlabeled_batch_size):
        self.X = X
        self.y = y
        self.batch_size = batch_size
        self.unlabeled_batch_size = min(unlabeled_batch_size, _num_samples(X))

    def __len__(self):
        return max(_num_samples(self.X) // self.unlabeled_batch_size, 50)

    def __iter__(self):
        labelled, size = np.flatnonzero(self.y >= 0), self.unlabeled_batch_size
        order = torch.randperm(len(self.X)).numpy()
        for start in range(0, len(self) * size, size):
            drawn = labelled[torch.randint(len(labelled), (self.batch_size,)).numpy()]
            rows = order[np.arange(start, start + size) % len(order)]
            batch = self.X[drawn], self.y[drawn], self.X[rows]
            yield tuple(torch.from_numpy(part) for part in batch)


class _Progress(Callback):
    """One line, updated while training goes on."""

    def on_train_begin(self, net, **kwargs):
        self.start_ = self.shown_ = time.monotonic()

    def on_batch_end(self, net, training=False, **kwargs):
        now, total = time.monotonic(), net.max_epochs * net.steps_per_epoch_
        last = net.n_steps_ == total
        if now - self.shown_ > 2 or last:
            self.shown_ = now
            left = (now - self.start_) * (total - net.n_steps_) / net.n_steps_
            loss = net.history[-1, "batches", -1, "train_loss"]
            epoch = min(net.n_steps_ // net.steps_per_epoch_ + 1, net.max_epochs)
            sys.stdout.write(
                f"\rstudent: epoch {epoch}/{net.max_epochs}, loss {loss:.3f}, {left:.0f} s left  "
                + ("\n" if last else "")
            )
            sys.stdout.flush()


# --- networks ----------------------------------------------------------------------------------


class _Classes(nn.Module):
    """A network cut to as many logits as there are classes, and what training needs beside it."""

    def __init__(self, network, n_classes, augment=None, generator=None):
        super().__init__()
        self.augment = augment
        self.generator = generator
        self.network = network
        self.n_classes = n_classes

    def forward(self, X):
        logits = self.network(X)
        if logits.ndim != 2 or logits.shape[1] < self.n_classes:
            raise ValueError(
                f"module must give at least {self.n_classes} logits per row, one per class; got an "
                f"output of shape {tuple(logits.shape)}"
            )
        return logits[:, : self.n_classes]

    def features(self, X):
        """What enters the last linear layer."""
        linear = [layer for layer in self.network.modules() if isinstance(layer, nn.Linear)]
        if not linear:
            raise ValueError("module needs a torch.nn.Linear as its last layer")
        seen = []
        hook = linear[-1].register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
        try:
            self.network(X)
        finally:
            hook.remove()
        return seen[-1]


def _default_module(shape, n_classes):
    """Return what makes a small network for rows of this shape."""
    if len(shape) == 1:
        return lambda: nn.Sequential(
            *(nn.Linear(shape[0], 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.1)),
            *(nn.Linear(128, 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.1)),
            nn.Linear(128, n_classes),
        )
    if len(shape) != 3:
        raise ValueError(
            f"rows of shape {shape} have no default network: give module=, or X of shape "
            "(n, features) or (n, channels, height, width)"
        )
    return lambda: nn.Sequential(
        *(nn.Conv2d(shape[0], 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.LeakyReLU(0.1)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(0.1)),
        nn.MaxPool2d(2, ceil_mode=True),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.LeakyReLU(0.1)),
        *(nn.AdaptiveMaxPool2d(3), nn.Flatten(), nn.Linear(64 * 9, n_classes)),
    )


class _Generator(nn.Module):
    """Noise to rows whose features lie in the range of those of `X`."""

    def __init__(self, X, noise_dim):
        super().__init__()
        low, high = X.min(axis=0), X.max(axis=0)
        self.register_buffer("low", torch.as_tensor(low))
        self.register_buffer("width", torch.as_tensor(high - low))
        self.layers = nn.Sequential(
            *(nn.Linear(noise_dim, 500), nn.BatchNorm1d(500), nn.ReLU()),
            *(nn.Linear(500, 500), nn.BatchNorm1d(500), nn.ReLU()),
            nn.Linear(500, low.size),
        )

    def forward(self, noise):
        return self.low + self.width * self.layers(noise).sigmoid().reshape(-1, *self.low.shape)


def _build(given, default):
    """Return a module that was given or is made; the one given is left as it is."""
    if given is None:
        return default()
    # A copy, as a function may return what others train as well
    made = copy.deepcopy(given if isinstance(given, nn.Module) else given())
    if not isinstance(made, nn.Module):
        raise ValueError(f"module and generator must be or make a torch.nn.Module; got {made!r}")
    return made


# --- small helpers -----------------------------------------------------------------------------


def _unit(steps):
    """Scale each row's step to length 1."""
    length = steps.flatten(1).norm(dim=1).clamp_min(1e-12)
    return steps / length.reshape(-1, *[1] * (steps.ndim - 1))


def _spread(X):
    """Root mean square distance of the rows from their mean."""
    flat = X.reshape(len(X), -1)
    return math.sqrt(np.var(flat, axis=0, dtype=np.float64).sum()) or 1.0


def _check_device(device):
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} is not available to torch here; use device='cpu', or install a "
            f"build of torch for it ({str(error).splitlines()[0]})"
        ) from None


@contextlib.contextmanager
def _seeded(random_state, device):
    """Seed torch for the time being; what others drew and will draw is left alone."""
    seed = int(check_random_state(random_state).randint(2**31))
    devices = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield
