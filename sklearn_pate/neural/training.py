"""Training on labelled and unlabelled rows: the skorch net and its batches."""

import numpy as np
import torch
from skorch import NeuralNet

#: Steps over which the learning rate rises.
_WARM_UP_STEPS = 50

#: Fewest steps of an epoch: few rows would make few.
_LEAST_STEPS = 50

#: Rows that are predicted at a time.
_ROWS_AT_A_TIME = 1024


class SemiSupervisedNet(NeuralNet):
    """A skorch net whose batches are labelled rows, their targets, and rows of any kind."""

    def __init__(self, *args, unlabeled_batch_size=128, **kwargs):
        super().__init__(*args, **kwargs)
        self.unlabeled_batch_size = unlabeled_batch_size

    def get_iterator(self, dataset, training=False):
        """Return `PairedBatches` in training, and batches of rows otherwise."""
        if training:
            return self._paired_batches(dataset.X, dataset.y)
        return self._plain_batches(dataset.X)

    def _paired_batches(self, X, y):
        return PairedBatches(X, y, self.batch_size, self.unlabeled_batch_size)

    def _plain_batches(self, X):
        # Not a DataLoader, which draws from torch's generator even if it does not shuffle
        for start in range(0, len(X), _ROWS_AT_A_TIME):
            rows = X[start : start + _ROWS_AT_A_TIME]
            yield torch.from_numpy(np.array(rows)), None  # a copy: torch warns of read-only arrays

    def on_train_begin(self, *args, **kwargs):
        """Start counting the steps of this training."""
        super().on_train_begin(*args, **kwargs)
        self.n_steps_ = 0

    def _prepare(self, batch):
        """Move a batch to the device, augment it, and set the learning rate of this step."""
        labelled, targets, rows = (tensor.to(self.device) for tensor in batch)
        if self.module_.augment is not None:
            labelled = self._augmented(labelled)
            rows = self._augmented(rows)
        rise = min(1, (self.n_steps_ + 1) / _WARM_UP_STEPS)
        fall = min(1, 2 * (1 - self.share_done))
        for optimizer in self._all_optimizers():
            for group in optimizer.param_groups:
                group["lr"] = self.lr * rise * fall
        self.n_steps_ += 1
        return labelled, targets, rows

    @property
    def share_done(self):
        """Steps taken, as a share of all steps."""
        return self.n_steps_ / (self.max_epochs * self.steps_per_epoch_)

    def _all_optimizers(self):
        return [self.optimizer_]

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
        self.steps_per_epoch_ = len(self._paired_batches(X, y))
        return super().fit_loop(X, y, epochs=epochs, **fit_params)


class PairedBatches:
    """Batches of labelled rows, drawn with replacement, each paired with a batch of any rows."""

    def __init__(self, X, y, batch_size, unlabeled_batch_size):
        self.X = X
        self.y = y
        self.batch_size = batch_size
        self.unlabeled_batch_size = min(unlabeled_batch_size, len(X))

    def __len__(self):
        return max(len(self.X) // self.unlabeled_batch_size, _LEAST_STEPS)

    def __iter__(self):
        labelled = np.flatnonzero(self.y >= 0)
        size = self.unlabeled_batch_size
        order = torch.randperm(len(self.X)).numpy()
        for start in range(0, len(self) * size, size):
            drawn = labelled[torch.randint(len(labelled), (self.batch_size,)).numpy()]
            rows = order[np.arange(start, start + size) % len(order)]
            batch = (self.X[drawn], self.y[drawn], self.X[rows])
            yield tuple(torch.from_numpy(part) for part in batch)
