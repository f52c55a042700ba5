"""Code that runs in the environments of the peers: arrays in, predictions out.

Rows are numbers from -1 to 1, and so is the number to predict.
"""

import json
import sys
from pathlib import Path

import numpy as np

#: The bound on the noise's eigenvalues of AdaSSP fails with this probability.
FAILURE = 0.05


def dp_ebm(arrays, one):
    from interpret.privacy import DPExplainableBoostingRegressor

    n_categories = arrays["n_categories"]
    model = DPExplainableBoostingRegressor(
        feature_types=["nominal" if n else "continuous" for n in n_categories],
        privacy_bounds={k: (-1.0, 1.0) for k, n in enumerate(n_categories) if not n},
        privacy_target_min=-1.0,
        privacy_target_max=1.0,
        epsilon=one["epsilon"],
        delta=one["delta"],
        n_jobs=1,
        random_state=one["seed"],
    )
    return model.fit(arrays["codes"], arrays["y"]).predict(arrays["codes_test"])


def diffprivlib(arrays, one):
    from diffprivlib.models import LinearRegression

    model = LinearRegression(
        epsilon=one["epsilon"],
        bounds_X=(-1.0, 1.0),
        bounds_y=(-1.0, 1.0),
        random_state=one["seed"],
    )
    return model.fit(arrays["wide"], arrays["y"]).predict(arrays["wide_test"])


def adassp(arrays, one):
    """As in `benchmarks.peers.fits.adassp_models`, of one number from -1 to 1."""
    rng = np.random.default_rng(one["seed"])
    X, X_test = (on_ball(arrays[name]) for name in ("learned", "learned_test"))
    mu = one["mu"] / np.sqrt(3)
    d = X.shape[1]
    moment = X.T @ X
    # Where a record is replaced, the least eigenvalue moves by 1, the others' squares add up to 2
    least = np.linalg.eigvalsh(moment)[0] + rng.normal() / mu
    sd = np.sqrt(2) / mu
    above = np.triu(rng.normal(size=(d, d)) * sd)
    moment = moment + above + np.triu(above, 1).T
    products = X.T @ arrays["y"] + rng.normal(size=d) * 2 / mu
    least = max(least - one["tail"] / mu, 0.0)
    ridge = max(0.0, sd * np.sqrt(d * np.log(2 * d**2 / FAILURE)) - least)
    return X_test @ np.linalg.solve(moment + (ridge + 1e-6) * np.eye(d), products)


def opacus(arrays, one):
    """A linear model by private gradient descent, with the steps that classes get."""
    sys.path.append(str(Path(__file__).parents[1] / "peers" / "fits"))
    import torch
    from opacus import PrivacyEngine
    from opacus_models import Rows, itemgetter, noise, steps_for, train
    from torch import nn

    torch.manual_seed(one["seed"])
    X = torch.tensor(arrays["wide"], dtype=torch.float32)
    y = torch.tensor(arrays["y"], dtype=torch.float32)
    batch = int(np.clip(len(X) / 50, 64, 1024))
    n_steps = int(min(steps_for(one["epsilon"]), 20 * len(X) / batch))
    n_batches = int(np.ceil(len(X) / batch))
    # Flat: ghost clipping multiplies losses by weights of shape (n_rows,)
    module = nn.Sequential(nn.Linear(X.shape[1], 1), nn.Flatten(0))
    loader = torch.utils.data.DataLoader(Rows(X, y), batch_size=batch, collate_fn=itemgetter(0))
    module, optimizer, loss, loader = PrivacyEngine(accountant="rdp").make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=one["rate"]),
        data_loader=loader,
        noise_multiplier=noise(one["epsilon"], one["delta"], n_batches, n_steps),
        max_grad_norm=1.0,
        criterion=nn.MSELoss(),
        grad_sample_mode="ghost",
    )
    train(module, optimizer, loss, loader, n_steps)
    with torch.no_grad():
        return module(torch.tensor(arrays["wide_test"], dtype=torch.float32)).numpy()


def on_ball(rows):
    """Rows and a constant, no longer than 1: standardized numbers have a length of about 1."""
    rows = np.column_stack([rows / np.sqrt(rows.shape[1]), np.ones(len(rows))]) / np.sqrt(2)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


if __name__ == "__main__":
    one = json.loads(sys.argv[1])
    fit = {"DP-EBM": dp_ebm, "diffprivlib": diffprivlib, "AdaSSP": adassp}.get(one["model"], opacus)
    np.save(one["to"], fit(dict(np.load(one["arrays"])), one))
