"""Training of many teachers of one network together, with stacked parameters."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from skorch import NeuralNetClassifier
from skorch.dataset import Dataset
from torch import nn
from torch.func import functional_call, vmap

from ..runtime.copies import seeded

if TYPE_CHECKING:
    from .._typing import Estimator, Rows

__all__ = ["BatchedTeachers"]

#: Largest number of rows in one step of a vote on a GPU; elsewhere, the batch size of skorch.
_ROWS_ON_GPU = 2**13


class BatchedTeachers(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Train copies of a skorch network together, as teachers of a `PATEClassifier`.

    ``PATEClassifier(BatchedTeachers(network))`` stacks the parameters of many teachers and takes
    each step for all of them at once (`torch.func.vmap`), in this process. This is faster, because
    a single small network does not use the full capacity of a GPU. Teachers have the same seeds,
    initial weights and batches as if they were trained one by one. The votes are also the same,
    except for rounding in float32 and for networks with layers that draw random numbers, such as
    dropout. ``python -m benchmarks --only batched`` measures the gain on your machine.

    `PATEClassifier` also trains a skorch network with ``device="cuda"`` in this way, without a
    `BatchedTeachers`. Networks that cannot be batched are trained one by one, after one warning
    with the reason. Possible reasons are batch normalisation and other layers in which rows of a
    batch influence each other or buffers change (group and layer normalisation are supported),
    callbacks, overridden methods, and unusual optimizers and losses.

    Within ``torch.autocast("cuda", torch.bfloat16, cache_enabled=False)``, layers compute in
    bfloat16. A cache would keep the first weights in all steps.

    A `BatchedTeachers` that is fitted directly, for instance as a student, behaves like the
    network.

    Parameters
    ----------
    estimator : skorch.NeuralNetClassifier
        The unfitted network. X must be a numeric array, in the dtype of the network.
    max_teachers : int, default=None
        Largest number of teachers trained together. The default is 256 with CUDA and 16 on other
        devices. Use a smaller number if a step does not fit into the memory of the GPU.

    Attributes
    ----------
    estimator_ : skorch.NeuralNetClassifier
        The fitted network, after a call of `fit`.
    classes_ : ndarray of shape (n_classes,)
        Labels of the network.

    References
    ----------
    .. [1] PyTorch, Model ensembling: tutorial of `torch.func`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skorch import NeuralNetClassifier
    >>> from torch import nn
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.teachers.batched import BatchedTeachers
    >>> X = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    >>> network = NeuralNetClassifier(
    ...     nn.Linear, module__in_features=4, module__out_features=2,
    ...     criterion=nn.CrossEntropyLoss, lr=0.5, verbose=0,
    ... )
    >>> clf = PATEClassifier(
    ...     BatchedTeachers(network), n_teachers=20, epsilon=5, classes=[0, 1],
    ...     student=LogisticRegression(),
    ... )
    >>> clf.fit(X[:800], (X[:800, 0] > 0).astype(int), X_public=X[800:]).n_teachers_
    20
    """

    def __init__(self, estimator: Estimator, *, max_teachers: int | None = None) -> None:
        self.estimator = estimator
        self.max_teachers = max_teachers

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Fit a clone of the network.

        Parameters
        ----------
        X : array-like with n_samples rows
            Features.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        BatchedTeachers
            Itself, fitted.
        """
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = np.asarray(self.estimator_.classes_)
        return self

    def predict(self, X: Rows) -> np.ndarray:
        """Predict labels with the fitted network.

        Parameters
        ----------
        X : array-like with n_samples rows
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict probabilities with the fitted network.

        Parameters
        ----------
        X : array-like with n_samples rows
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def why_not(self, X: Rows, X_query: Rows) -> str | None:
        """Return the reason why teachers of this network cannot be trained together.

        Parameters
        ----------
        X, X_query : array-like
            Private and public features. The result depends on the type of the private features, not
            on their values. A dry run trains on a few public rows.

        Returns
        -------
        str or None
            The reason; None if they can be trained together.
        """
        return (
            why_not_network(self.estimator)
            or why_not_data(X, "X")
            or why_not_data(X_query, "X_public")
            or self._trial(X_query)
        )

    def train(
        self,
        trainees: Iterable[tuple[Any, ...]],
        X_query: Rows,
        *,
        proba: bool = False,
        keep: bool = False,
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Train teachers together and yield their votes.

        The teachers of each stack, and their random numbers, depend only on the order of the
        teachers. So a changed record affects no other teacher, not even by rounding.

        Parameters
        ----------
        trainees : iterable of tuples
            For each teacher, in order: a key; the seed of its random numbers; its unfitted network,
            which is changed in place; its features, an ndarray with n_records rows; its labels as
            codes. A tuple of only a key and a seed is the place of a teacher that is not trained.
        X_query : ndarray with n_queries rows
            Public points to vote on.
        proba : bool, default=False
            Whether to yield probabilities instead of codes of labels.
        keep : bool, default=False
            Whether to yield fitted networks.

        Yields
        ------
        key : object
            Key of each teacher, in order.
        voted : ndarray of shape (n_queries,) or (n_queries, n_outputs), or None
            Predicted codes, or probabilities, of the teacher; None without a network.
        fitted : NeuralNetClassifier or None
            The fitted network; None without a network, or if `keep` is False.
        """
        on_gpu = torch.device(self.estimator.device).type == "cuda"
        size = self.max_teachers or (256 if on_gpu else 16)
        trainees = iter(trainees)
        while members := [_Member(*trainee) for trainee in itertools.islice(trainees, size)]:
            if any(member.network for member in members):
                yield from self._train_stack(members, X_query, proba, keep)
            else:
                yield from ((member.key, None, None) for member in members)

    def _train_stack(
        self, members: list[_Member], X_query: Rows, proba: bool, keep: bool
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Train the members of one stack, and yield their votes."""
        device = torch.device(self.estimator.device)
        trained = [member for member in members if member.network]
        first = trained[0]
        # Members without a network keep their place with a copy of another network
        networks = [member.network or first.network for member in members]
        stack = _Stack(networks, [member.n_steps for member in members], device)
        self._run_epochs(stack, members, trained, device)
        # A copy, because torch warns about read-only arrays, such as a memmap
        queries = torch.from_numpy(np.array(X_query)).to(device)
        n_rows = first.network.get_iterator(range(len(X_query)), training=False).batch_size
        if device.type == "cuda":  # the rows of a training step of all members, which fit in memory
            n_rows = max(n_rows, min(_ROWS_ON_GPU, len(members) * first.loader.batch_size))
        for member, state in zip(members, stack.states(), strict=True):
            if not member.network:
                yield member.key, None, None
                continue
            with seeded(member.seed):
                output = stack.predict(state, queries, n_rows)
            voted = member.proba(output) if proba else output.argmax(axis=1)
            yield member.key, voted, member.fitted(state) if keep else None

    def _run_epochs(
        self, stack: _Stack, members: list[_Member], trained: list[_Member], device: Any
    ) -> None:
        """Take all training steps of all members; `trained` are the members with a network."""
        X = torch.cat([member.X for member in trained])
        y = torch.cat([member.y for member in trained])
        if device.type == "cuda":
            # Rows may use an eighth of a GPU; its free memory may depend on private data
            room = torch.cuda.get_device_properties(device).total_memory // 8
            if X.nbytes + y.nbytes <= room:
                X, y = X.to(device), y.to(device)
        for epoch in range(self.estimator.max_epochs):
            rows, weight = _epoch(members, trained[0].loader.batch_size)
            rows = _to_device(rows, X.device)
            weight = _to_device(weight, device)
            # For layers with random draws, such as dropout; Python does not salt hashes of numbers
            with seeded(hash((members[0].seed, epoch)) % 2**32):
                for step in range(rows.shape[1]):
                    X_batch = X[rows[:, step]].to(device)
                    y_batch = y[rows[:, step]].to(device)
                    stack.step(X_batch, y_batch, weight[:, step], step)

    def _trial(self, X_query: Rows) -> str | None:
        """Return the problem of a dry run of training on a few public rows, or None."""
        try:
            some = np.linspace(0, len(X_query) - 1, 8).astype(int)
            rows = torch.from_numpy(X_query[some])
            device = torch.device(self.estimator.device)
            with seeded(0):
                networks = [_initialized(clone(self.estimator)) for _ in range(2)]
                reason = why_rows_meet(networks[0].module_.train(), rows)
                if reason is not None:
                    return reason
                stack = _Stack(networks, [1, 2], device)
                rows = rows.to(device)
                labels = torch.zeros(2, len(rows), dtype=torch.int64, device=device)
                stack.step(torch.stack([rows] * 2), labels, labels + 1.0, 0)
                stack.predict(next(stack.states()), rows, len(rows))
        except Exception as error:
            return f"a dry run of training on public rows failed ({type(error).__name__})"
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class _Member:
    """A teacher before it is trained: its network, rows and batches.

    The initial weights are drawn and the rows are split as in skorch. A member without a network
    keeps its place in a stack, and has no rows and no steps.
    """

    n_steps = 0

    def __init__(
        self,
        key: Any,
        seed: int,
        network: Any = None,
        X: Any = None,
        codes: Any = None,
    ) -> None:
        self.key = key
        self.seed = seed
        self.network = network
        if network is None:
            return
        with seeded(seed):
            _initialized(network)
            train, valid = network.get_split_datasets(X, codes)
            self.state = torch.random.get_rng_state()  # of the member's own generator
        self.validates = valid is not None  # whether skorch sets rows aside
        rows = getattr(train, "indices", np.arange(len(codes)))
        self.X = torch.from_numpy(X[rows])
        self.y = torch.from_numpy(codes[rows])
        self.loader = network.get_iterator(range(len(rows)), training=True)
        self.n_steps = len(self.loader.batch_sampler)
        self.classes = np.unique(codes)

    def batches(self) -> np.ndarray:
        """Return the indices of the rows of all batches of the next epoch, batch after batch.

        As in skorch, the member's generator draws one more number before the training batches, and
        one before the validation batches.
        """
        torch.random.set_rng_state(self.state)
        _draw()
        rows = np.fromiter(self.loader.sampler, dtype=np.int64)
        if self.validates:
            _draw()
        self.state = torch.random.get_rng_state()
        return rows[: self.n_steps * self.loader.batch_size]  # fewer rows with drop_last

    def proba(self, output: np.ndarray) -> np.ndarray:
        """Return probabilities from the outputs of the network, as in skorch."""
        normalised = isinstance(self.network.criterion_, nn.NLLLoss)
        if self.network.predict_nonlinearity == "auto" and not normalised:
            output = torch.softmax(torch.from_numpy(output), dim=1).numpy()
        return output

    def fitted(self, state: dict[str, torch.Tensor]) -> Any:
        """Return the network with its trained parameters."""
        self.network.module_.load_state_dict(state, strict=False)  # tied weights have one name
        self.network.check_data(None, self.classes)  # stores the classes, like `fit`
        return self.network


class _Stack:
    """Networks of one architecture with stacked parameters.

    Only networks with the same number of steps share an optimizer, because an optimizer counts its
    steps.
    """

    def __init__(self, networks: list[Any], steps: Any, device: Any) -> None:
        first = networks[0]
        self.device = device
        self.groups = []  # number of steps, parameters and optimizer of each group
        for n_steps in np.unique(steps):
            members = np.flatnonzero(np.equal(steps, n_steps))
            params = self._stacked([dict(networks[i].module_.named_parameters()) for i in members])
            args, kwargs = first.get_params_for_optimizer("optimizer", list(params.items()))
            self.groups.append((n_steps, params, first.optimizer(*args, **kwargs)))
        buffers = [dict(network.module_.named_buffers()) for network in networks]
        self.buffers = self._stacked(buffers)
        # Place of each network in the concatenation of all groups
        end_to_end = np.argsort(steps, kind="stable")
        self.order = torch.from_numpy(np.argsort(end_to_end)).to(device)
        self.module = copy.deepcopy(first.module_).to(device)
        self.criterion = copy.deepcopy(first.criterion_).to(device)
        self.criterion.reduction = "none"
        module = self.module  # a closure over self would be a cycle, and delay freeing memory
        self.forward = vmap(
            lambda params, buffers, X: functional_call(module, (params, buffers), (X,)),
            randomness="different",
        )

    def _stacked(self, tensors: Any) -> Any:
        """Stack the tensors of each name; `tensors` contains one dict for each network."""
        stacks = {}
        for name, first in tensors[0].items():
            stack = torch.stack([named[name].detach().to(self.device) for named in tensors])
            stacks[name] = stack.requires_grad_(first.requires_grad)
        return stacks

    def _params(self) -> Any:
        """Return the parameters of all networks, in their order."""
        first, *others = [params for _, params, _ in self.groups]
        if not others:
            return first
        parts = {name: [first[name], *(params[name] for params in others)] for name in first}
        return {name: torch.cat(tensors)[self.order] for name, tensors in parts.items()}

    def step(self, X: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, k: int) -> None:
        """Take step `k` of an epoch for networks with more steps; ignore rows of mask 0."""
        self.module.train()
        for _, _, optimizer in self.groups:
            optimizer.zero_grad()
        output = self.forward(self._params(), self.buffers, X).flatten(0, 1)
        output = output.to(torch.promote_types(output.dtype, torch.float32))
        if isinstance(self.criterion, nn.NLLLoss):  # as in skorch
            output = torch.log(output + torch.finfo(output.dtype).eps)
        losses = self.criterion(output, y.flatten()).view(mask.shape)
        # A mean with weights is divided by their sum
        weight = 1 if self.criterion.weight is None else self.criterion.weight[y]
        total = (mask * weight).sum(dim=1)
        # The total is 0 for networks without a step `k`
        ((losses * mask).sum(dim=1) / total.clamp(min=1e-30)).sum().backward()
        for n_steps, _, optimizer in self.groups:
            if k < n_steps:
                optimizer.step()

    @torch.no_grad()
    def predict(self, state: dict[str, torch.Tensor], X: torch.Tensor, n_rows: int) -> np.ndarray:
        """Return the outputs of one network, of shape (len(X), n_outputs).

        `state` contains the parameters and buffers of the network, `X` is on the device, and
        `n_rows` is the number of rows per batch. Networks predict one after another, because many
        rows keep a GPU busy, and the weights of one network fit into a CPU's cache.
        """
        in_parts = _InParts(self.module).eval()
        named = {f"module.{name}": tensor for name, tensor in state.items()}
        return functional_call(in_parts, named, (X.split(n_rows),)).cpu().numpy()

    def states(self) -> Iterator[dict[str, torch.Tensor]]:
        """Yield the parameters and buffers of each network, by name."""
        whole = {name: value.detach() for name, value in self._params().items()} | self.buffers
        for i in range(len(self.order)):
            # Copies, because rounding on a GPU may depend on the layout of a tensor, and the layout
            # of a view depends on the whole stack
            yield {name: value[i].clone() for name, value in whole.items()}


class _InParts(nn.Module):
    """A module of several batches: `functional_call` exchanges its tensors once for all of them."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, parts: Iterable[torch.Tensor]) -> torch.Tensor:
        return torch.cat([self.module(rows).float() for rows in parts])


def _epoch(members: list[_Member], batch_size: int) -> tuple[Any, Any]:
    """Return rows and weights of all batches of the next epoch.

    Both have the shape (n_members, n_steps, batch_size). Rows are numbered through the
    concatenation of all members.
    """
    n_steps = max(member.n_steps for member in members)
    rows = np.zeros((len(members), n_steps * batch_size), dtype=np.int64)
    weight = np.zeros(rows.shape, dtype=np.float32)
    first = 0
    with seeded(0):  # only to restore torch's generator, as each member sets its own state
        for i, member in enumerate(members):
            if not member.network:
                continue
            rows[i] = first  # fills up short batches and missing steps, with weight 0
            batches = member.batches()
            rows[i, : len(batches)] += batches
            weight[i, : len(batches)] = 1
            first += len(member.y)
    shape = (len(members), n_steps, batch_size)
    return rows.reshape(shape), weight.reshape(shape)


def _to_device(array: np.ndarray, device: Any) -> torch.Tensor:
    """Return a tensor on a device, without waiting for earlier steps of a GPU."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def _initialized(network: Any) -> Any:
    """Draw a network's weights on the CPU, as skorch does before moving them."""
    return network.set_params(device="cpu", verbose=0).initialize()


def _draw() -> None:
    """Draw the number that a DataLoader draws when it starts."""
    torch.empty((), dtype=torch.int64).random_()


# --- reasons why networks cannot be trained together, or None -------------------------------------


#: Elementwise optimizers, with which a step of a stack is a step of each network.
ELEMENTWISE = (
    torch.optim.Adadelta,
    torch.optim.Adagrad,
    torch.optim.Adam,
    torch.optim.AdamW,
    torch.optim.Adamax,
    torch.optim.NAdam,
    torch.optim.RAdam,
    torch.optim.RMSprop,
    torch.optim.SGD,
)


def why_not_network(network: Any) -> str | None:
    """Return the reason why copies of a network cannot be trained together, or None if they can."""
    if not isinstance(network, NeuralNetClassifier):
        return f"only skorch.NeuralNetClassifier can be batched; got {type(network).__name__}"
    kinds = type(network).__mro__
    own = [name for kind in kinds[: kinds.index(NeuralNetClassifier)] for name in vars(kind)]
    overridden = [name for name in own if name in dir(NeuralNetClassifier) and name[:2] != "__"]
    if overridden:
        return f"{type(network).__name__} overrides {overridden[0]}"
    for name, can_be_batched in _settings(network).items():
        if not can_be_batched:
            return f"this setting of {name} cannot be batched"
    return None


def _settings(network: Any) -> dict[str, Any]:
    """Return a dict from each relevant setting to whether it can be batched."""
    batch_size = network.get_params().get("iterator_train__batch_size", network.batch_size)
    loader = torch.utils.data.DataLoader
    settings = {
        "callbacks": network.callbacks in (None, "disable") or network.callbacks == [],
        "criterion": network.criterion in (nn.CrossEntropyLoss, nn.NLLLoss),
        "optimizer": network.optimizer in ELEMENTWISE,
        "iterator_train": network.iterator_train is loader,
        "iterator_valid": network.iterator_valid is loader,
        "dataset": network.dataset is Dataset,
        "predict_nonlinearity": network.predict_nonlinearity in ("auto", None),
        "compile": not network.compile,
        "batch_size": batch_size > 0,  # -1, all rows, differs between teachers
    }
    for name, value in network.get_params(deep=False).items():
        prefix, _, suffix = name.partition("__")
        if not suffix:
            continue
        if prefix == "criterion":  # reduction="mean" is the default
            settings[name] = suffix in {"weight", "label_smoothing"} or value == "mean"
        elif prefix in {"iterator_train", "iterator_valid"}:
            settings[name] = suffix in {"batch_size", "shuffle", "drop_last"}
        elif prefix in {"dataset", "callbacks"} or name == "optimizer__param_groups":
            settings[name] = False
    return settings


def why_not_data(X: Any, name: str) -> str | None:
    """Return the reason why data cannot be stacked, which names only their type, or None."""
    if type(X) in (np.ndarray, np.memmap) and X.dtype.kind in "fiub":
        return None
    return f"{name} must be a numeric array; got {type(X).__name__}"


def why_rows_meet(module: nn.Module, rows: torch.Tensor) -> str | None:
    """Return how one row of a batch may affect other rows in a module, or None."""
    before = copy.deepcopy(dict(module.named_buffers()))
    outputs = []  # of the first row: in a batch with other rows, and with copies of itself
    for batch in (rows, rows[[0] * len(rows)]):
        with seeded(0):  # so that the first row has the same dropout in both batches
            outputs.append(module(batch)[0])
    with_others, with_copies = outputs
    if not torch.allclose(with_others, with_copies, rtol=1e-4, atol=1e-6):
        return "rows of a batch influence each other, as in batch normalisation"
    if any(not torch.equal(before[name], value) for name, value in module.named_buffers()):
        return "buffers change in training, as in batch normalisation"
    return None
