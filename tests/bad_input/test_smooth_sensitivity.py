"""The smooth sensitivity of a cost, and its release."""

from sklearn_pate.smooth_sensitivity import leads, smooth_release_rdp, smooth_sensitivity

from .helpers import NAN, NOT_ORDERS, NOT_POSITIVE, each, refused, table

ABOVE_0 = "must be a finite number above 0; got"


@each("orders", NOT_ORDERS)
def test_a_release_at_wrong_orders(orders):
    with refused("orders must be "):
        smooth_release_rdp(orders, beta=0.1, sigma=1.0)


@each("sigma", NOT_POSITIVE)
def test_a_release_with_a_wrong_sigma(sigma):
    with refused(f"sigma {ABOVE_0}"):
        smooth_release_rdp([2.0], beta=0.1, sigma=sigma)


@each("beta", NOT_POSITIVE)
def test_a_release_with_a_wrong_beta(beta):
    with refused(f"beta {ABOVE_0}"):
        smooth_release_rdp([2.0], beta=beta, sigma=1.0)


@each("beta", NOT_POSITIVE)
def test_a_sensitivity_with_a_wrong_beta(beta):
    with refused(f"beta {ABOVE_0}"):
        smooth_sensitivity([1.0, 0.5], [1], beta)


@table(
    "costs, lead, message",
    {
        "lead": ([1.0, 0.5], [2], "lead must be"),
        "lead=x": ([1.0], "x", "lead must be"),
        "NaN": ([1.0, NAN], [1], "cost_by_lead"),
        "axes": ([[1.0]], [0], "cost_by_lead"),
        "text": ("x", [0], "cost_by_lead must"),
    },
)
def test_a_sensitivity_of_wrong_costs(costs, lead, message):
    with refused(message):
        smooth_sensitivity(costs, lead, 0.1)


def test_leads_of_negative_votes():
    with refused("votes has negative counts"):
        leads([[5, -1]])
