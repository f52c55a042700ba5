"""What a noisy table of ballots says of each public row: all of this is free."""

import numpy as np

__all__ = ["deal_labels", "default_n_cells", "row_rates"]


def default_n_cells(n_records, n_public, n_classes, noise_std):
    """Return a number of cells by public numbers.

    With replace-one Laplace noise it is about ``n_records * epsilon / 20``, at most a fifth of the
    public rows.
    """
    n_records = n_public if n_records is None else n_records
    by_noise = n_records / (7 * noise_std)
    return int(np.clip(round(by_noise), 1, max(1, n_public // 5)))


def row_rates(noisy, centers, public, cells, noise_std):
    """Return the rates of each public row; to be replaced."""
    table = np.maximum(noisy, 0) + noise_std / 10
    rates = table / table.sum(axis=1, keepdims=True)
    return rates[cells]


def deal_labels(rates, cells):
    """Deal labels by rates, so that each cell's public rows have about the cell's rates.

    Within a cell the rates are added up over its rows, class by class, and a row gets the class
    that is owed most.

    Parameters
    ----------
    rates : ndarray of shape (n_public, n_classes)
        Rows sum to 1.
    cells : ndarray of shape (n_public,), int
        The cell of each row.

    Returns
    -------
    ndarray of shape (n_public,), int
    """
    labels = np.empty(len(rates), dtype=int)
    owed = np.zeros((cells.max() + 1, rates.shape[1]))
    for row in range(len(rates)):
        owed[cells[row]] += rates[row]
        labels[row] = owed[cells[row]].argmax()
        owed[cells[row], labels[row]] -= 1
    return labels
