"""Mutation: faults that a developer could make in what the guarantee rests on; tests must fail.

    python benchmarks/mutants.py [--listed-only] [name ...]

For each fault the package and its tests are copied to a temporary folder, one piece of the copy is
replaced, and pytest runs there: first the tests listed with the fault, then, if these pass, the
whole suite (not with --listed-only). Prints the test that failed, or SURVIVED; the exit status is
1 if a fault survived. Before, the listed tests must pass on an unchanged copy. With names: these
faults only (a name may be the beginning of several).

Every fault changes what is released or what is claimed about it, if only in rare cases. Needs the
extra `test`; half an hour on one core.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Fault(NamedTuple):
    """A piece of a file of the package, what replaces it, and tests likely to notice."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple


FAULTS = [
    # --- defaults that are numbers ------------------------------------------------------------
    Fault(
        "rules-private-number-of-records",
        "classifier/voters.py",
        "n_records=len(private.codes) if is_public else None",
        "n_records=len(private.codes)",
        ("test_rules.py::test_a_hashed_partition_has_100_teachers_whatever_the_number_of_records",),
    ),
    Fault(
        "rules-records-of-groups",
        "classifier/voters.py",
        "is_random and private.groups is None",
        "is_random",
        ("test_rules.py::test_groups_have_100_teachers_whatever_the_number_of_records",),
    ),
    Fault(
        "rules-classes-that-occur",
        "classifier/voters.py",
        "n_classes=len(private.classes)",
        "n_classes=len(set(private.codes.tolist()))",
        ("test_rules.py::test_private_values_change_no_default",),
    ),
    Fault(
        "rules-teachers-without-records",
        "rules.py",
        "min(wanted, n_records / _FEWEST_RECORDS)",
        "min(wanted, n_records)",
        ("test_rules.py::test_teachers_grow_with_records_and_classes_and_shrink_with_epsilon",),
    ),
    Fault(
        "rules-teachers-of-a-small-epsilon",
        "rules.py",
        "max(1.0, float(epsilon))",
        "float(epsilon)",
        ("test_rules.py::test_teachers_are_as_many_for_a_small_epsilon_and_none_as_for_1",),
    ),
    Fault(
        "rules-noise-whatever-the-classes",
        "rules.py",
        "return n_teachers / (2 * math.sqrt(n_classes))",
        "return n_teachers / (2 * math.sqrt(2))",
        ("test_rules.py::test_noise_is_half_the_votes_over_the_root_of_classes",),
    ),
    Fault(
        "rules-cells-whatever-the-noise",
        "rules.py",
        "/ (7 * noise_std)",
        "/ 20",
        ("test_rules.py::test_cells_grow_with_records_and_shrink_with_noise",),
    ),
    Fault(
        "rules-cells-of-few-classes",
        "rules.py",
        ", 4 * n_classes)",
        ")",
        ("test_rules.py::test_cells_are_at_least_four_a_class_and_at_most_half_the_public_rows",),
    ),
    Fault(
        "rules-cells-whatever-the-records",
        "rules.py",
        "(n_public if n_records is None else n_records)",
        "n_public",
        ("test_rules.py::test_cells_grow_with_records_and_shrink_with_noise",),
    ),
    Fault(
        "rules-share-of-all",
        "classifier/synthesis.py",
        "share = default_share()",
        "share = 0.9",
        ("test_rules.py::test_rows_leave_most_of_epsilon_to_votes",),
    ),
    # --- what a plan says, refuses and warns of -----------------------------------------------
    Fault(
        "report-private-number-of-records",
        "classifier/forecast.py",
        "            n_records=task.ballots.n_records,\n",
        "            n_records=len(task.private.codes),\n",
        ("test_forecast.py::test_a_number_of_records_that_is_private_changes_nothing",),
    ),
    Fault(
        "report-plan-holds-private-data",
        "classifier/estimator.py",
        "return no_cost if self.synthesis is None else self.synthesis.without_data().cost",
        "return lambda orders: (self.synthesis.cost if self.synthesis else no_cost)(orders)",
        ("test_forecast.py::test_a_plan_holds_no_private_data",),
    ),
    Fault(
        "report-not-escaped",
        "accountant/report.py",
        "<td>{escape(words)}</td>",
        "<td>{words}</td>",
        ("test_forecast.py::test_all_that_a_page_shows_is_escaped",),
    ),
    Fault(
        "report-advice-not-escaped",
        "accountant/report.py",
        "<li>{escape(text)}</li>",
        "<li>{text}</li>",
        ("test_forecast.py::test_all_that_a_page_shows_is_escaped",),
    ),
    Fault(
        "report-others-agree-with-the-right",
        "accountant/forecast.py",
        "n_classes, dtype=type(n_right)), 1, axis=1)",
        "n_classes, dtype=type(n_right)), 0, axis=1)",
        ("test_forecast.py::test_of_two_classes_it_is_the_normal_distributions",),
    ),
    Fault(
        "report-agreement-rounded-down",
        "accountant/forecast.py",
        "math.ceil(check_agreement(agreement) * n_teachers - 1e-9)",
        "int(check_agreement(agreement) * n_teachers)",
        ("test_forecast.py::test_of_two_classes_it_is_the_normal_distributions",),
    ),
    Fault(
        "report-right-of-all-queries",
        "accountant/forecast.py",
        "right / answered if answered > 0 else math.nan",
        "right if answered > 0 else math.nan",
        ("test_forecast.py::test_of_answers_alone_where_a_mechanism_may_refuse",),
    ),
    Fault(
        "report-first-class-stands-for-all",
        "accountant/forecast.py",
        "n_right = 1 if is_symmetric else min(n_classes, _MOST_RIGHT)",
        "n_right = 1",
        ("test_forecast.py::test_every_class_has_its_turn_where_a_mechanism_prefers_some",),
    ),
    Fault(
        "report-cells-of-other-noise-each-time",
        "accountant/forecast.py",
        "noisy = clone(mechanism).noisy(table, np.random.default_rng(0))",
        "noisy = clone(mechanism).noisy(table, np.random.default_rng())",
        ("test_forecast.py::test_private_values_change_nothing_that_a_plan_says",),
    ),
    Fault(
        "report-spends-the-budget",
        "accountant/plan.py",
        "untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))",
        "untouched = self",
        ("test_forecast.py::test_labels_that_a_budget_lets_through_are_those_of_a_fit",),
    ),
    Fault(
        "report-teachers-not-calibrated-again",
        "accountant/advice.py",
        "tried = plan.again(n_teachers=n_teachers)",
        "tried = plan",
        ("test_forecast.py::test_the_teachers_that_are_advised_outvote_the_noise",),
    ),
    Fault(
        "report-forecast-called-spent",
        "accountant/spent.py",
        "        return PrivacySpent(**_fields(self))\n",
        "        return self\n",
        ("test_forecast.py::test_what_is_forecast_does_not_read_as_if_it_were_released",),
    ),
    Fault(
        "report-rows-of-another-method",
        "classifier/forecast.py",
        "        epsilon, delta = cost.pure, 0.0\n",
        "        pass\n",
        ("test_forecast.py::test_the_parts_of_epsilon",),
    ),
    Fault(
        "refused-not-at-all",
        "classifier/forecast.py",
        "        check_labels_for_all_classes(plan)\n",
        "        pass\n",
        ("test_forecast.py::test_fewer_queries_than_classes_are_refused_before_anything_is_spent",),
    ),
    Fault(
        "refused-below-one-label",
        "accountant/advice.py",
        "    if n_labels >= n_classes:\n        return\n",
        "    if n_labels >= 1:\n        return\n",
        ("test_forecast.py::test_a_budget_for_fewer_queries_than_classes_is_refused",),
    ),
    Fault(
        "refused-one-label-a-class",
        "accountant/advice.py",
        "    if n_labels >= n_classes:\n        return\n",
        "    if n_labels > n_classes:\n        return\n",
        ("test_forecast.py::test_as_many_queries_as_classes_are_asked",),
    ),
    Fault(
        "refused-as-no-matter-of-budget",
        "accountant/advice.py",
        "error = ValueError if is_wanted else BudgetExceededError",
        "error = ValueError",
        ("test_forecast.py::test_a_budget_for_fewer_queries_than_classes_is_refused",),
    ),
    Fault(
        "refused-without-warnings",
        "classifier/forecast.py",
        "            warn(text)\n",
        "            pass\n",
        ("test_forecast.py::test_what_is_warned_of_is_advice_and_once",),
    ),
    # --- what a mechanism states ------------------------------------------------------------------
    Fault(
        "facts-inherited-by-a-changed-subclass",
        "rdp/facts.py",
        "        if defined_in(base):\n            return None\n",
        "",
        ("test_facts.py",),
    ),
    Fault(
        "facts-inherited-past-other-bases",
        "rdp/facts.py",
        "return base if has_no_other_bases else None",
        "return base",
        ("test_facts.py::test_other_bases_in_between_state_nothing",),
    ),
    Fault(
        "facts-of-a-patched-object",
        "rdp/facts.py",
        "    if replaced:\n        return None\n",
        "",
        ("test_facts.py::test_what_came_later_takes_the_facts_away",),
    ),
    Fault(
        "sampler-that-came-later",
        "rdp/facts.py",
        "    _check_sampler(mechanism)\n",
        "",
        ("test_facts.py::test_a_sampler_that_came_later_is_refused",),
    ),
    Fault(
        "callbacks-of-teachers",
        "isolation/copies.py",
        'getattr(part, "__dict__", {}).pop("_skl_callbacks", None)',
        "pass",
        ("test_noninterference.py::test_callbacks_of_teachers_and_students_see_nothing",),
    ),
    Fault(
        "positions-of-all-rows",
        "isolation/copies.py",
        'isinstance(getattr(X, "index", None), pd.RangeIndex)',
        "False",
        ("test_isolation.py::test_positions_that_shift_do_not_reach_the_teachers",),
    ),
    Fault(
        "codes-of-a-mechanism-unchecked",
        "classifier/mechanism.py",
        "if not are_whole or (labels < -1).any() or (labels >= n_classes).any():",
        "if not whole:",
        ("test_facts.py",),
    ),
    Fault(
        "codes-of-a-student-unchecked",
        "classifier/checks.py",
        "if not one_number_each or not np.isin(codes, np.arange(n_classes)).all():",
        "if not whole:",
        ("test_facts.py",),
    ),
    Fault(
        "facts-missing-and-not-named",
        "accountant/checks.py",
        "{aggregator.missing_facts()}; or set epsilon=None",
        "Use an aggregator with noise; or set epsilon=None",
        ("test_facts.py::test_an_infinite_cost_says_which_claim_is_missing",),
    ),
    Fault(
        "release-of-another-distribution",
        "rdp/facts.py",
        'for name in (distribution, "aggregate", "draw", "release"):',
        'for name in (distribution, "aggregate", "draw"):',
        ("test_facts.py::test_a_subclass_that_defines_anything_states_nothing_until_it_does",),
    ),
    Fault(
        "calibration-of-one-query",
        "accountant/calibration.py",
        "[costs_once(stage, orders, **sizes)(n) for stage, n in stages]",
        "[costs_once(stage, orders, **sizes)(1) for stage, n in stages]",
        ("test_facts.py",),
    ),
    Fault(
        "calibration-stops-above-the-cap",
        "rdp/calibration.py",
        "while excess(root) > 0:",
        "while excess(root) > 1e-3:",
        ("test_accountant.py", "test_rdp.py", "test_facts.py"),
    ),
    Fault(
        "soft-floating-point-noise",
        "aggregators/soft.py",
        'if self.noise == "continuous":\n            noisy',
        "if True:\n            noisy",
        ("test_facts.py",),
    ),
    Fault(
        "soft-noise-of-one-share",
        "aggregators/soft.py",
        "DiscreteGaussian(float(self.sigma) * _SHARES)",
        "DiscreteGaussian(float(self.sigma))",
        ("test_facts.py",),
    ),
    Fault(
        "spent-exact-if-any-stage-is",
        "classifier/estimator.py",
        "    return all(\n        stage.is_exact",
        "    return any(\n        stage.is_exact",
        ("test_progress.py",),
    ),
    Fault(
        "public-numbers-by-place",
        "rdp/worst_case.py",
        "def worst_case_rdp(aggregator, orders, *, n_teachers=None, n_classes=None):",
        "def worst_case_rdp(aggregator, orders, n_teachers=None, n_classes=None):",
        ("test_facts.py::test_public_numbers_are_given_by_name",),
    ),
    Fault(
        "callbacks-get-the-classifier",
        "classifier/progress.py",
        "self._view = view_class(estimator)",
        "self._view = estimator",
        ("test_progress.py",),
    ),
    # --- rdp: the published bounds ---------------------------------------------------------------
    Fault(
        "published-condition-half",  # the code of 2017
        "rdp/published.py",
        "holds = log_q < -np.logaddexp(2 * gamma, 0.0)",
        "holds = log_q < math.log(0.5)",
        ("test_known_errors.py", "test_rdp.py"),
    ),
    Fault(
        "published-pure-bound-of-one-count",
        "rdp/published.py",
        "data_independent = np.minimum(2 * gamma**2 * orders, 2 * gamma)",
        "data_independent = np.minimum(2 * gamma**2 * orders, gamma)",
        ("test_rdp.py",),
    ),
    Fault(
        "published-sqrt2-of-gap",
        "rdp/published.py",
        "log_ndtr(-d / (math.sqrt(2) * sigma))",
        "log_ndtr(-d / sigma)",
        ("test_rdp.py",),
    ),
    Fault(
        "published-gamma-forgotten",
        "rdp/published.py",
        "np.log((2 + gamma * d) / 4) - gamma * d",
        "np.log(1 / 2) - gamma * d",
        ("test_rdp.py",),
    ),
    Fault(
        "published-order-off-by-one",
        "rdp/published.py",
        "holds = (mu1 >= orders)",
        "holds = (mu1 >= orders - 1)",
        ("test_rdp.py::test_gnmax_bound_ends_at_its_largest_order",),
    ),
    Fault(
        "published-mu1-and-mu2-swapped",
        "rdp/published.py",
        "log_b = e1 - log_q / mu2",
        "log_b = e2 - log_q / mu1",
        ("test_rdp.py",),
    ),
    Fault(
        "pure-order-off-by-half",
        "rdp/published.py",
        "x = (orders - 0.5) * epsilon",
        "x = (orders - 1) * epsilon",
        ("test_rdp.py",),
    ),
    # --- rdp: conversion -------------------------------------------------------------------------
    Fault(
        "conversion-order-off-by-one",
        "rdp/conversion.py",
        "(math.log(delta) + np.log(orders)) / (orders - 1)",
        "(math.log(delta) + np.log(orders)) / orders",
        ("test_rdp.py",),
    ),
    Fault(
        "conversion-sign-of-log-order",
        "rdp/conversion.py",
        "np.log1p(-1 / orders) - (math.log(delta) + np.log(orders))",
        "np.log1p(-1 / orders) - (math.log(delta) + 2 * np.log(orders))",
        ("test_rdp.py",),
    ),
    Fault(
        "classic-order-off-by-one",
        "rdp/conversion.py",
        "return -math.log(delta) / (orders - 1)",
        "return -math.log(delta) / orders",
        ("test_rdp.py",),
    ),
    Fault(
        "gaussian-epsilon-rounded-down",
        "rdp/conversion.py",
        "root * (1 + 1e-12) + 2e-14",
        "root * (1 - 1e-12) - 2e-14",
        ("test_rdp.py::test_gaussian_epsilon_is_rounded_up_to_the_last_digit",),
    ),
    Fault(
        "gaussian-delta-not-renormalised",
        "rdp/conversion.py",
        "tails = erfcx(-a / math.sqrt(2)) - erfcx(-b / math.sqrt(2))",
        "tails = erfcx(-a) - erfcx(-b)",
        ("test_rdp.py",),
    ),
    # --- rdp: the exact cost ---------------------------------------------------------------------
    Fault(
        "exact-one-direction",
        "rdp/exact.py",
        "np.concatenate([log_p, log_q]), np.concatenate([log_q, log_p]))",
        "np.concatenate([log_p, log_p]), np.concatenate([log_q, log_q]))",
        ("test_exact.py::test_exact_costs_agree_with_mpmath",),
    ),
    Fault(
        "exact-last-vote-never-leaves",
        "rdp/exact.py",
        "leaves = votes > 0",
        "leaves = votes > (votes.sum(axis=1, keepdims=True) > 1)",
        ("test_exact.py::test_exact_of_every_small_histogram",),
    ),
    Fault(
        "exact-moves-among-tied-classes-left-out",
        "rdp/exact.py",
        "leaves[:, :-1] &= differs",
        "leaves[:, 1:] &= differs",
        ("test_exact.py::test_exact_costs_agree_with_mpmath",),
    ),
    Fault(
        "exact-prunes-by-the-wrong-end",
        "rdp/exact.py",
        "some = np.flatnonzero(at_high >= least[self.query[rows], 0])",
        "some = np.flatnonzero(at_low >= least[self.query[rows], -1])",
        ("test_exact.py", "test_argmax_moves.py"),
    ),
    Fault(
        "exact-prunes-below-the-chord",
        "rdp/exact.py",
        "share = (order - low) / (high - low) * ((high - 1) / (order - 1))",
        "share = (order - low) / (high - low) * ((low - 1) / (order - 1))",
        ("test_exact.py", "test_argmax_moves.py"),
    ),
    Fault(
        "exact-one-direction-of-many-classes",
        "rdp/exact.py",
        "np.concatenate([-log_ratio, log_ratio]),",
        "np.concatenate([log_ratio, log_ratio]),",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "exact-trusts-the-noise-of-a-subclass",
        "rdp/exact.py",
        "type(noise) in (Gaussian, Laplace)",
        "isinstance(noise, Gaussian | Laplace)",
        ("test_argmax_moves.py::test_other_noise_costs_what_the_definition_says",),
    ),
    Fault(
        "moves-taker-takes-nothing",
        "rdp/argmax_moves.py",
        "ratio[:, :, -1] = cdf_less @ (density * pdf_more).T",
        "ratio[:, :, -1] = cdf_less @ density.T",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "moves-among-tied-classes-left-out",
        "rdp/argmax_moves.py",
        "possible[np.diag(n_at == 1)] = False",
        "possible[np.diag(n_at >= 1)] = False",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "moves-leave-classes-without-votes",
        "rdp/argmax_moves.py",
        "possible[levels == 0] = False",
        "possible[levels == 0] = True",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "moves-of-likely-outcomes-without-digits",
        "rdp/argmax_moves.py",
        "log_ratio[row, likeliest] = np.log1p(change[near_1])",
        "log_ratio[row, likeliest] += 0 * change[near_1]",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "moves-with-too-few-nodes",
        "rdp/argmax_moves.py",
        "log_density.max(axis=0) > -50 - 4 * largest_change",
        "log_density.max(axis=0) > -15 - 4 * largest_change",
        ("test_argmax_moves.py",),
    ),
    Fault(
        "exact-rounded-down",
        "rdp/exact.py",
        "return costs * (1 + 1e-9) + (1e-14",
        "return costs * (1 - 1e-9) - (1e-14",
        ("test_exact.py::test_exact_costs_agree_with_mpmath",),
    ),
    Fault(
        "exact-wild-orders-off-by-one",
        "rdp/exact.py",
        "np.maximum(np.logaddexp.reduce(log_terms, axis=1), 0) / (order - 1)",
        "np.maximum(np.logaddexp.reduce(log_terms, axis=1), 0) / order",
        ("test_exact.py::test_exact_costs_agree_with_mpmath",),
    ),
    # --- rdp: the worst case ---------------------------------------------------------------------
    Fault(
        "worst-vote-does-not-arrive",
        "rdp/supremum.py",
        "before = self.noise.log_rivals(second + margin + half, second - half)",
        "before = self.noise.log_rivals(second + margin + half, second + half)",
        ("test_worst_case.py::test_no_point_of_a_dense_grid_exceeds_the_supremum",),
    ),
    Fault(
        "worst-search-with-one-direction",
        "rdp/supremum.py",
        "np.maximum(there.divergence(order), back.divergence(order))",
        "there.divergence(order)",
        (
            "test_worst_case.py::test_no_point_of_a_dense_grid_exceeds_the_supremum",
            "test_worst_case.py::test_supremum_with_few_teachers_lies_far_below_the_rivals",
        ),
    ),
    Fault(
        "worst-gaussian-missing-factor-2",
        "rdp/worst_case.py",
        "cost = np.minimum(cost, orders * facts.gdp_mu**2 / 2)",
        "cost = np.minimum(cost, orders * facts.gdp_mu**2 / 4)",
        ("test_mechanisms.py::test_confident_costs_no_more_than_its_worst_case",),
    ),
    Fault(
        "worst-pure-taken-only",
        "rdp/worst_case.py",
        "return by_taking + by_giving",
        "return max(by_taking, by_giving)",
        ("test_worst_case.py::test_enumeration_never_exceeds_the_worst_case",),
    ),
    Fault(
        "margin-neighbour-left-out",
        "rdp/worst_case.py",
        "np.maximum(bound[1:], bound[:-1])",
        "bound[1:]",
        ("test_smooth_sensitivity.py::test_table_covers_all_votes_in_both_directions",),
    ),
    Fault(
        "margin-of-an-odd-number-of-teachers",
        "rdp/worst_case.py",
        "first = n_teachers - n_teachers // 2 + half_margins",
        "first = n_teachers // 2 + half_margins",
        ("test_smooth_sensitivity.py::test_table_of_two_classes_is_the_exact_cost_of_each_margin",),
    ),
    Fault(
        "cost-larger-delta-instead-of-sum",
        "rdp/cost.py",
        "self.delta + other.delta,",
        "max(self.delta, other.delta),",
        ("test_mechanisms.py::test_stages_that_may_fail_share_delta",),
    ),
    Fault(
        "cost-delta-spent-twice",
        "rdp/cost.py",
        "left = check_delta(delta) - self.delta",
        "left = check_delta(delta)",
        ("test_mechanisms.py::test_stable_stops_after_its_runs_and_pays_once_for_all",),
    ),
    Fault(
        "check-one-direction",
        "rdp/checked.py",
        "itertools.product((True, False), (-1, 1))",
        "itertools.product((True,), (-1, 1))",
        ("test_mechanisms.py::test_the_check_by_a_dense_grid",),
    ),
    Fault(
        "check-missing-factor-2",
        "rdp/checked.py",
        "as_two_mechanisms = answer_rdp + orders * step**2 / 2",
        "as_two_mechanisms = answer_rdp + orders * step**2 / 4",
        ("test_mechanisms.py::test_the_check_by_a_dense_grid",),
    ),
    Fault(
        "check-answer-counted-at-order-1",
        "rdp/checked.py",
        "gain = ((orders - 1) * answer_rdp)[:, None]",
        "gain = answer_rdp[:, None]",
        ("test_mechanisms.py::test_the_check_by_a_dense_grid",),
    ),
    # --- rdp: noise, calibration, tuning ---------------------------------------------------------
    Fault(
        "gaussian-sqrt2-to-1",
        "rdp/noise.py",
        "return math.sqrt(2) / self.scale",
        "return 1 / self.scale",
        ("test_accountant.py::test_gaussian_cost_is_at_most_exact_composition",),
    ),
    Fault(
        "laplace-l1-sensitivity-1",
        "rdp/noise.py",
        '"""L1 sensitivity over scale."""\n        return 2 / self.scale',
        '"""L1 sensitivity over scale."""\n        return 1 / self.scale',
        (
            "test_aggregators.py::test_half_precision_parameters_cost_what_they_say",
            "test_exact.py",
        ),
    ),
    Fault(
        "permute-and-flip-as-if-monotone",
        "rdp/noise.py",
        'cost 1 / scale each."""\n        return 2 / self.scale',
        'cost 1 / scale each."""\n        return 1 / self.scale',
        ("test_known_errors.py",),
    ),
    Fault(
        "win-by-the-noise-of-one-count",
        "rdp/noise.py",
        "return log_ndtr(margin / math.sqrt(2))",
        "return log_ndtr(margin)",
        ("test_aggregators.py",),
    ),
    Fault(
        "laplace-cut-to-whole-votes",  # tinydp
        "rdp/noise.py",
        "return rng.laplace(scale=self.scale, size=shape)",
        "return rng.laplace(scale=self.scale, size=shape).astype(np.int64)",
        ("test_known_errors.py",),
    ),
    Fault(
        "discrete-two-zeros",
        "rdp/discrete.py",
        "accepted = ~negative | (size != 0)",
        "accepted = ~negative | (size == size)",
        ("test_aggregators.py::test_discrete_samples_follow_their_probabilities",),
    ),
    Fault(
        "discrete-chances-out-of-one-more",
        "rdp/discrete.py",
        "rng.integers(q, size=p.size)",
        "rng.integers(q + 1, size=p.size)",
        ("test_secure.py::test_discrete_noise_is_exact",),
    ),
    Fault(
        "discrete-tie-to-the-higher-code",
        "rdp/discrete.py",
        "np.column_stack([-margin, margin + 1])",
        "np.column_stack([1 - margin, margin])",
        ("test_aggregators.py::test_discrete_outcomes_agree_with_sums",),
    ),
    Fault(
        "calibration-ends-above-the-cap",
        "rdp/calibration.py",
        "while excess(root) > 0:",
        "while excess(root) > 1e-6:",
        ("test_rdp.py::test_a_search_for_noise_ends_on_the_side_that_fits",),
    ),
    Fault(
        "tuning-eta-without-1",
        "rdp/tuning.py",
        "return rdp + (1 + self.eta) * second.min() + of_the_mean",
        "return rdp + self.eta * second.min() + of_the_mean",
        (
            "test_model_selection.py::test_best_of_random_trials_costs_at_most_the_bound_and_not_much_less",
        ),
    ),
    # --- aggregators -----------------------------------------------------------------------------
    Fault(
        "confident-sigmas-swapped",
        "aggregators/checked.py",
        "1 / sigma1**2 + 2 / sigma2**2",
        "2 / sigma1**2 + 1 / sigma2**2",
        (
            "test_mechanisms.py::test_confident_costs_no_more_than_its_worst_case",
            "test_known_errors.py",
        ),
    ),
    Fault(
        "confident-check-with-noise-of-the-answer",
        "aggregators/checked.py",
        "return checked_rdp(sigma1, np.zeros(len(answer)), orders), answer",
        "return checked_rdp(sigma2, np.zeros(len(answer)), orders), answer",
        (
            "test_mechanisms.py::test_the_guarantee_of_stopped_runs",
            "test_mechanisms.py::test_confident_costs_no_more_than_its_worst_case",
            "test_mechanisms.py::test_refunds_pay_for_more_queries_than_the_worst_case",
        ),
    ),
    Fault(
        "confident-check-overwritten-by-answer",  # individualized-pate
        "aggregators/checked.py",
        "return checked_rdp(sigma1, answer, orders)",
        "return answer",
        ("test_mechanisms.py::test_confident_costs_no_more_than_its_worst_case",),
    ),
    Fault(
        "confident-answers-with-noise-of-the-check",
        "aggregators/checked.py",
        "rng.normal(scale=float(self.sigma2), size=votes.shape)",
        "rng.normal(scale=float(self.sigma1), size=votes.shape)",
        ("test_mechanisms.py::test_samples_agree_with_the_outcome_distribution",),
    ),
    Fault(
        "interactive-rounds-half-to-even",  # the code of 2018
        "aggregators/checked.py",
        "_check_proba(student_proba, votes.shape)).max(axis=1)",
        "_check_proba(student_proba, votes.shape)).max(axis=1).round()",
        ("test_known_errors.py",),
    ),
    Fault(
        "discrete-gaussian-missing-factor-2",
        "aggregators/argmax.py",
        "rdp=lambda orders, n_teachers, n_classes: orders / variance)",
        "rdp=lambda orders, n_teachers, n_classes: orders / (2 * variance))",
        ("test_aggregators.py::test_discrete_noise_claims_what_is_known", "test_worst_case.py"),
    ),
    Fault(
        "discrete-ties-as-if-symmetric",
        "aggregators/argmax.py",
        "return Facts(pure_epsilon=noise.pure_epsilon, exact=True)",
        "return Facts(pure_epsilon=noise.pure_epsilon, exact=True, label_symmetric=True)",
        (
            "test_worst_case.py::test_one_sided_and_discrete_noise_are_pure",
            "test_aggregators.py::test_discrete_ties_favour_low_codes",
        ),
    ),
    Fault(
        "stable-distance-of-even-margins",
        "aggregators/stable.py",
        "np.maximum((margins(check_votes(votes)) + 1) // 2 - 1, 0)",
        "margins(check_votes(votes)) // 2",
        ("test_mechanisms.py::test_distances_change_by_one_and_are_zero_where_the_argmax_may",),
    ),
    Fault(
        "stable-threshold-noise-reused",
        "aggregators/stable.py",
        "        for _ in range(self.max_unstable):\n"
        "            threshold = self.stability_needed(max(1, len(votes)))"
        " + rng.laplace(scale=on_threshold)\n",
        "        threshold = self.stability_needed(max(1, len(votes)))"
        " + rng.laplace(scale=on_threshold)\n"
        "        for _ in range(self.max_unstable):\n",
        ("test_mechanisms.py::test_every_run_has_a_threshold_of_its_own",),
    ),
    Fault(
        "stable-one-run-too-many",
        "aggregators/stable.py",
        "for _ in range(self.max_unstable):",
        "for _ in range(self.max_unstable + 1):",
        ("test_mechanisms.py::test_stable_stops_after_its_runs_and_pays_once_for_all",),
    ),
    Fault(
        "stable-half-the-noise-on-distances",
        "aggregators/stable.py",
        "return 1 / for_threshold, 2 / (run_epsilon - for_threshold)",
        "return 1 / for_threshold, 1 / (run_epsilon - for_threshold)",
        ("test_mechanisms.py::test_the_comparisons_of_a_run_are_pure",),
    ),
    Fault(
        "stable-noises-swapped",
        "aggregators/stable.py",
        "return 1 / for_threshold, 2 / (run_epsilon - for_threshold)",
        "return 2 / (run_epsilon - for_threshold), 1 / for_threshold",
        ("test_mechanisms.py::test_every_run_has_a_threshold_of_its_own",),
    ),
    Fault(
        "stable-failures-of-one-run",
        "aggregators/stable.py",
        "np.minimum(1, max_unstable * np.exp(-drop / on_threshold) / 2)",
        "np.minimum(1, np.exp(-drop / on_threshold) / 2)",
        ("test_mechanisms.py::test_stables_threshold_fails_as_seldom_as_it_says",),
    ),
    Fault(
        "immutable-constant-left-out",
        "aggregators/immutable.py",
        "change = 1 + self._added(n_classes)",
        "change = max(1, self._added(n_classes))",
        ("test_mechanisms.py::test_immutables_counts_change_by_one_and_the_constant",),
    ),
    Fault(
        "soft-sqrt2-to-1",
        "aggregators/soft.py",
        "lambda orders, n_teachers, n_classes: orders / sigma**2",
        "lambda orders, n_teachers, n_classes: orders / sigma**2 / 2",
        (
            "test_mechanisms.py::test_soft_votes_release_noisy_sums_of_probabilities",
            "test_mechanisms.py::test_soft_noise_is_what_it_says",
        ),
    ),
    # --- partition -------------------------------------------------------------------------------
    Fault(
        "partition-with-replacement",
        "partition.py",
        "np.random.default_rng(seed).permutation(n_records) % n_teachers",
        "np.random.default_rng(seed).integers(n_teachers, size=n_records)",
        ("test_partition.py",),
    ),
    Fault(
        "partition-unshuffled",  # tinydp
        "partition.py",
        "np.random.default_rng(seed).permutation(n_records) % n_teachers",
        "np.arange(n_records) % n_teachers",
        ("test_partition.py",),
    ),
    Fault(
        "hash-without-key",
        "identifiers.py",
        'hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8)',
        'hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)',
        ("test_partition.py",),
    ),
    Fault(
        "hash-modulo-bias",
        "identifiers.py",
        'int.from_bytes(digest, "little") for digest in digests',
        "digest[0] for digest in digests",
        ("test_partition.py",),
    ),
    Fault(
        "groups-by-rank",
        "partition.py",
        'return _keyed_hash(groups, n_teachers, seed, "groups")',
        "return np.unique(groups, return_inverse=True)[1] % n_teachers",
        ("test_partition.py",),
    ),
    Fault(
        "hash-of-position",
        "partition.py",
        'return _keyed_hash(index, n_teachers, seed, "the index of X")',
        'return _keyed_hash(np.arange(n_records), n_teachers, seed, "the index of X")',
        ("test_partition.py",),
    ),
    Fault(
        "split-groups-let-through",
        "partition.py",
        "(of_group[group_indices] != teacher_indices).any()",
        "(teacher_indices != teacher_indices).any()",
        ("test_partition.py",),
    ),
    Fault(
        "filter-checks-after",
        "accountant/filter.py",
        "fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)",
        "fits = spent[:-1] <= self.limit * (1 - 1e-12)",
        ("test_mechanisms.py::test_filter_sets_aside_before_and_refunds_after",),
    ),
    Fault(
        "filter-sets-aside-what-was-spent",
        "accountant/filter.py",
        "fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)",
        "fits = spent[1:] <= self.limit * (1 - 1e-12)",
        (
            "test_known_errors.py",
            "test_mechanisms.py::test_filter_sets_aside_before_and_refunds_after",
            "test_mechanisms.py::test_the_guarantee_of_stopped_runs",
        ),
    ),
    Fault(
        "filter-anew-for-each-stage",
        "accountant/filter.py",
        "spent = self.spent + check * n_asked + answer * n_answered",
        "spent = check * n_asked + answer * n_answered",
        ("test_mechanisms.py::test_filter_sets_aside_before_and_refunds_after",),
    ),
    Fault(
        "refund-without-a-check",
        "accountant/plan.py",
        "paid if is_refundable else np.ones(len(paid))",
        "paid",
        ("test_mechanisms.py::test_a_check_that_costs_nothing_refunds_nothing",),
    ),
    Fault(
        "filter-limit-beyond-its-order",
        "accountant/filter.py",
        "within = self.order >= DEFAULT_ORDERS",
        "within = self.order <= DEFAULT_ORDERS",
        ("test_ledger.py::test_a_filter_costs_its_cap_below_its_order_and_the_total_above",),
    ),
    Fault(
        "filter-limit-without-delta",
        "accountant/filter.py",
        "limit = epsilon - conversion_penalty(delta, DEFAULT_ORDERS)",
        "limit = epsilon - 0 * conversion_penalty(delta, DEFAULT_ORDERS)",
        ("test_mechanisms.py::test_refunds_pay_for_more_queries_than_the_worst_case",),
    ),
    Fault(
        "affordable-off-by-one",
        "accountant/calibration.py",
        "bisect_right(range(1, n_wanted + 1), cap, key=epsilon_of)",
        "bisect_right(range(n_wanted), cap, key=epsilon_of)",
        ("test_accountant.py",),
    ),
    Fault(
        "tests-delta-not-in-its-cost",
        "accountant/plan.py",
        "Cost(pure_rdp(left, DEFAULT_ORDERS), math.inf, left, its_delta)",
        "Cost(pure_rdp(left, DEFAULT_ORDERS), math.inf, left)",
        ("test_accountant.py::test_the_delta_of_a_private_test_adds_up",),
    ),
    Fault(
        "stages-pay-for-the-dearest-alone",
        "accountant/plan.py",
        "return reduce(Cost.plus, parts)",
        "return max(parts, key=lambda part: part.pure)",
        ("test_mechanisms.py::test_stages_run_in_order_and_share_the_cap",),
    ),
    Fault(
        "summary-rounds-to-nearest",
        "accountant/words.py",
        "n_decimals, ROUND_CEILING, ",
        "n_decimals, 'ROUND_HALF_EVEN', ",
        ("test_progress.py",),
    ),
    # --- smooth sensitivity ----------------------------------------------------------------------
    Fault(
        "half-margin-rounded-up",
        "smooth_sensitivity.py",
        "return margins(check_votes(votes)) // 2",
        "return (margins(check_votes(votes)) + 1) // 2",
        ("test_smooth_sensitivity.py", "test_known_errors.py"),
    ),
    Fault(
        "smooth-one-side-of-the-window",
        "smooth_sensitivity.py",
        "values = np.maximum(values, np.maximum(wider[:-2], wider[2:]))",
        "values = np.maximum(values, wider[:-2])",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "smooth-change-to-one-side",
        "smooth_sensitivity.py",
        "local = np.maximum(np.append(change, 0), np.insert(change, 0, 0))",
        "local = np.append(change, 0)",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "smooth-distance-off-by-one",
        "smooth_sensitivity.py",
        "max(math.exp(-beta * d) * total for d, total",
        "max(math.exp(-beta * (d + 1)) * total for d, total",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "release-cost-of-public-code",
        "smooth_sensitivity.py",
        "        cost = orders * math.exp(-2 * beta) / (2 * sigma**2 * w)\n"
        "        cost -= (orders * beta + np.log(w) / 2) / (orders - 1)\n",
        "        cost = orders * math.exp(2 * beta) / sigma**2\n"
        "        cost += (orders * beta - np.log(1 - 2 * orders * beta) / 2) / (orders - 1)\n",
        ("test_known_errors.py", "test_smooth_sensitivity.py"),
    ),
    Fault(
        "release-scale-for-free",
        "smooth_sensitivity.py",
        "return float(self.order / (2 * self.sigma_scale**2) + smooth)",
        "return float(smooth)",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "release-shows-the-private-scale",
        "smooth_sensitivity.py",
        "self.sigma_cost * (sensitivity * on_cost + scale * z)",
        "self.sigma_cost * (sensitivity * on_cost + sensitivity * z)",
        ("test_smooth_sensitivity.py::test_sanitised_release_is_shifted_by_a_noisy_scale",),
    ),
    Fault(
        "release-fails-twice",
        "smooth_sensitivity.py",
        "z = float(ndtri(1 - self.failure_probability / 2))",
        "z = float(ndtri(1 - 2 * self.failure_probability))",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "test-one-direction",
        "propose_test_release.py",
        "return np.maximum(cost(last, following), cost(following, last)) <= total",
        "return cost(following, last) <= total",
        ("test_smooth_sensitivity.py",),
    ),
    Fault(
        "test-distance-off-by-one",
        "propose_test_release.py",
        "distance = 0\n",
        "distance = 1\n",
        ("test_smooth_sensitivity.py",),
    ),
    # --- teachers --------------------------------------------------------------------------------
    Fault(
        "teachers-first-part-for-all",  # mlforhealthlabpub
        "teachers/ensemble.py",
        "for rows in _rows_by_teacher(teacher_indices, n_teachers):",
        "for rows in [_rows_by_teacher(teacher_indices, n_teachers)[0]] * n_teachers:",
        ("test_known_errors.py",),
    ),
    Fault(
        "teachers-parts-shifted",
        "teachers/ensemble.py",
        "np.searchsorted(teacher_indices[order], np.arange(1, n_teachers))",
        'np.searchsorted(teacher_indices[order], np.arange(1, n_teachers), side="right")',
        ("test_partition.py", "test_teachers.py"),
    ),
    Fault(
        "teachers-weights-of-others",
        "teachers/ensemble.py",
        "None if sample_weight is None else sample_weight[rows]",
        "None if sample_weight is None else sample_weight[: rows.size]",
        ("test_teachers.py",),
    ),
    Fault(
        "teachers-share-a-seed",
        "teachers/ensemble.py",
        "for child in seed.spawn(n_teachers)]",
        "for child in [seed] * n_teachers]",
        ("test_teachers.py",),
    ),
    Fault(
        "teachers-share-the-queries",
        "teachers/one.py",
        "part, X_query = copied_data((task.part, task.X_query))",
        "part, X_query = task.part, task.X_query",
        ("test_teachers.py",),
    ),
    Fault(
        "teachers-shares-rounded-up",
        "teachers/vote.py",
        "np.floor(tempered / sums * (SHARES - 1))",
        "np.ceil(tempered / sums * SHARES)",
        ("test_mechanisms.py::test_one_teachers_shares_have_bounded_norm",),
    ),
    Fault(
        "votes-pickled",
        "electorate.py",
        'raise TypeError("votes are private: they cannot be pickled or copied")',
        "return Votes, tuple(vars(self).values())",
        ("test_queries.py",),
    ),
    # --- isolation -------------------------------------------------------------------------------
    Fault(
        "isolation-of-no-generators",
        "isolation/block.py",
        "        stack.enter_context(seeded(seed))\n",
        "",
        (
            "test_isolation.py::test_generators_start_from_the_seed_and_are_as_before",
            "test_one_record_one_teacher.py",
        ),
    ),
    Fault(
        "isolation-of-numpy-alone",
        "isolation/generators.py",
        "for context in (_numpy_seeded, _python_seeded, _torch_seeded):",
        "for context in (_numpy_seeded,):",
        ("test_isolation.py::test_generators_start_from_the_seed_and_are_as_before",),
    ),
    Fault(
        "isolation-puts-nothing-back",
        "isolation/generators.py",
        "        np.random.set_bit_generator(outer)\n        np.random.set_state(state)\n",
        "        pass\n",
        ("test_isolation.py::test_generators_start_from_the_seed_and_are_as_before",),
    ),
    Fault(
        "isolation-forgets-half-of-a-pair",
        "isolation/generators.py",
        "        np.random.set_bit_generator(outer)\n        np.random.set_state(state)\n",
        "        np.random.set_bit_generator(outer)\n",
        ("test_isolation.py::test_generators_start_from_the_seed_and_are_as_before",),
    ),
    Fault(
        "isolation-without-turns",
        "isolation/generators.py",
        "    with _turn, contextlib.ExitStack() as stack:\n        for context in",
        "    with contextlib.ExitStack() as stack:\n        for context in",
        ("test_isolation.py::test_threads_take_turns",),
    ),
    Fault(
        "isolation-of-settings-left-out",
        "isolation/block.py",
        "            stack.enter_context(restored())\n",
        "            pass\n",
        ("test_isolation.py::test_settings_are_put_back",),
    ),
    Fault(
        "first-import-of-torch-unseeded",
        "teachers/one.py",
        'if "torch" in sys.modules and not had_torch:',
        "if False:",
        ("test_isolation.py::test_the_first_to_import_torch_is_seeded_as_others_are",),
    ),
    Fault(
        "teachers-share-a-frozen-estimator",
        "isolation/copies.py",
        "return _without_callbacks(own_copy(cloned, seed, functions=functions))",
        "return cloned",
        ("test_one_record_one_teacher.py",),
    ),
    Fault(
        "threads-without-a-word",
        "workers.py",
        "    if not _share_a_process(n_jobs):\n",
        "    if True:\n",
        ("test_isolation.py::test_threads_are_told_once_that_they_take_turns",),
    ),
    Fault(
        "sites-load-with-the-callers-generators",
        "teachers/one.py",
        "with isolated(task.seed), config_context(**task.settings.config):\n        X, codes",
        "with Quiet():\n        X, codes",
        ("test_isolation.py::test_sites_load_in_isolation",),
    ),
    Fault(
        "shared-generators-stay-shared",
        "isolation/copies.py",
        "return new_generator(obj, seeds) if is_shared else None",
        "return None",
        ("test_isolation.py::test_what_shares_a_generator_becomes_a_copy_that_does_not",),
    ),
    Fault(
        "parameters-leave-with-generators",
        "isolation/copies.py",
        "            copied.set_params(**dict.fromkeys(generators))\n",
        "            pass\n",
        ("test_isolation.py::test_parameters_leave_without_generators_and_unfitted",),
    ),
    Fault(
        "student-with-the-callers-generators",
        "classifier/student.py",
        "        with seeded(number):\n            student = unfitted_copy",
        "        with Quiet():\n            student = unfitted_copy",
        ("test_noninterference.py::test_students",),
    ),
    Fault(
        "student-shares-a-generator",
        "classifier/student.py",
        "return own_generators(student)",
        "return student",
        ("test_noninterference.py::test_students",),
    ),
    Fault(
        "pickle-shares-a-generator",
        "classifier/estimator.py",
        "state = own_generators(state)",
        "state = dict(state)",
        ("test_isolation.py::test_a_generator_that_a_student_takes_after_the_fit_is_not_pickled",),
    ),
    Fault(
        "partition-with-the-callers-generators",
        "teachers/electorate.py",
        "with Quiet(), seeded(seed_number(seed)):",
        "with Quiet():",
        ("test_noninterference.py::test_partitions",),
    ),
    Fault(
        "strategy-with-the-callers-generators",
        "classifier/choice.py",
        "with seeded(int(self._rng.integers(2**32))):",
        "if True:",
        ("test_noninterference.py::test_strategies",),
    ),
    Fault(
        "transformer-shares-a-generator",
        "public.py",
        "own_generators(transformer.fit(public_rows(X_public)))",
        "transformer.fit(public_rows(X_public))",
        ("test_noninterference.py::test_a_transformer_fitted_on_public_rows",),
    ),
    Fault(
        "parallel-work-leaves-the-process",
        "isolation/generators.py",
        '        stack.enter_context(parallel_config(backend="sequential"))\n',
        "",
        ("test_isolation.py::test_what_a_teacher_runs_in_parallel_stays_in_its_isolation",),
    ),
    Fault(
        "teachers-share-cells",
        "teachers/one.py",
        "part, X_query = copied_data((task.part, task.X_query))",
        'part, X_query = __import__("copy").deepcopy((task.part, task.X_query))',
        ("test_isolation.py::test_teachers_that_write_into_cells_reach_nobody",),
    ),
    Fault(
        "teachers-share-functions",
        "teachers/one.py",
        "fitted = own_clone(task.estimator, task.seed, functions=not settings.keep)",
        'fitted = __import__("copy").deepcopy(task.estimator)',
        ("test_isolation.py::test_functions_that_hold_a_generator_or_a_cache_reach_nobody",),
    ),
    Fault(
        "teachers-share-a-cache-of-steps",
        "teachers/one.py",
        "        without_caches(fitted)\n",
        "",
        ("test_isolation.py::test_a_pipelines_cache_is_not_shared",),
    ),
    Fault(
        "teachers-share-files-of-weights",
        "teachers/together.py",
        "            if issubclass(kind, use_files):",
        "            if False:",
        ("test_isolation.py::test_callbacks_that_write_files_are_refused",),
    ),
    Fault(
        "teachers-see-the-index-of-all",
        "teachers/ensemble.py",
        "own_rows(X, rows, _safe_indexing) if rows.size",
        "_safe_indexing(X, rows) if rows.size",
        ("test_isolation.py::test_the_index_of_a_part_tells_of_no_other",),
    ),
    Fault(
        "forced-warnings-are-recorded",
        "isolation/silence.py",
        "warnings.catch_warnings(record=True),",
        "warnings.catch_warnings(),",
        ("test_isolation.py::test_warnings_that_a_teacher_lets_through_are_dropped",),
    ),
    Fault(
        "parameters-keep-generators-deep-within",
        "isolation/copies.py",
        "    return own_copy(copied, fresh_seed())\n",
        "    return copied\n",
        ("test_isolation.py::test_a_generator_shared_with_parts_does_not_give_the_noise_away",),
    ),
    Fault(
        "student-keeps-generators-deep-within",
        "classifier/student.py",
        "student = own_clone(student, number)",
        'student = __import__("sklearn.base").base.clone(student)',
        ("test_isolation.py::test_a_generator_shared_with_parts_does_not_give_the_noise_away",),
    ),
    # --- private scores --------------------------------------------------------------------------
    Fault(
        "score-by-one-copy-for-all",
        "model_selection/scoring.py",
        "fresh_student = copier(estimator.student_)",
        "fresh_student = (lambda copied: lambda: copied)(copier(estimator.student_)())",
        ("test_model_selection.py::test_one_held_out_record_moves_the_score_by_one_at_most",),
    ),
    Fault(
        "score-by-the-published-student",
        "model_selection/scoring.py",
        "fresh_student = copier(estimator.student_)",
        "fresh_student = lambda: estimator.student_",
        (
            "test_model_selection.py::test_the_published_model_has_seen_no_held_out_record",
            "test_model_selection.py::test_one_held_out_record_moves_the_score_by_one_at_most",
        ),
    ),
    Fault(
        "score-with-the-callers-generators",
        "model_selection/scoring.py",
        "with isolated(0):\n                unit =",
        "with __import__('sklearn_pate.isolation').isolation.Quiet():\n                unit =",
        ("test_model_selection.py::test_one_held_out_record_moves_the_score_by_one_at_most",),
    ),
    Fault(
        "score-of-all-rows-at-once",
        "model_selection/scoring.py",
        "unit = copied_data(own_rows(self._X, rows, _safe_indexing))\n"
        "                predicted = np.asarray(fresh_student().predict(unit))",
        "at = np.append(np.concatenate(self._units), rows)\n"
        "                predicted = np.asarray(fresh_student().predict(\n"
        "                    _safe_indexing(self._X, at)))[-len(rows) :]",
        ("test_model_selection.py::test_one_held_out_record_moves_the_score_by_one_at_most",),
    ),
    Fault(
        "score-of-no-prediction",
        "model_selection/scoring.py",
        "                if predicted.shape != rows.shape:\n                    return 0.0\n",
        "",
        ("test_model_selection.py::test_units_that_cannot_be_predicted_are_wrong_and_no_more",),
    ),
    Fault(
        "score-lets-panics-out",
        "isolation/redaction.py",
        "except BaseException as error:  # SystemExit and panics of Rust extensions too",
        "except Exception as error:  # SystemExit and panics of Rust extensions too",
        (
            "test_model_selection.py::test_units_that_cannot_be_predicted_are_wrong_and_no_more",
            "test_noninterference.py",
        ),
    ),
    Fault(
        "score-of-a-list-by-its-parts",
        "model_selection/base.py",
        'indexable(indexable_rows(X, "X"), groups)',
        "indexable(X, groups)",
        (
            "test_model_selection.py::"
            "test_one_missing_value_in_a_list_does_not_decide_how_all_are_scored",
        ),
    ),
    Fault(
        "scorer-with-the-callers-generators",
        "model_selection/scoring.py",
        "with isolated(0):  # what a scorer",
        "with __import__('sklearn_pate.isolation').isolation.Quiet():  # what a scorer",
        (
            "test_model_selection.py::"
            "test_what_a_scorer_draws_does_not_tell_how_many_trials_there_were",
        ),
    ),
    Fault(
        "candidates-share-a-student",
        "model_selection/candidates.py",
        "estimator.set_params(**{name: clone(params[name], safe=False) for name in params})",
        "estimator.set_params(**params)",
        ("test_model_selection.py::test_candidates_do_not_share_what_they_set",),
    ),
    Fault(
        "score-of-units-by-place",
        "model_selection/hold_out.py",
        'np.argsort(keyed_digests(distinct, seed), kind="stable")[:MOST_SCORED]',
        "np.random.default_rng(seed).permutation(len(distinct))[:MOST_SCORED]",
        ("test_model_selection.py::test_units_are_scored_by_chance_and_no_more_than_there_are",),
    ),
    Fault(
        "score-of-students-that-look-aside",
        "model_selection/base.py",
        "scorer.check(candidates, X_public, plans)",
        "pass",
        ("test_model_selection.py::test_bad_searches_are_refused_before_anything_is_spent",),
    ),
    Fault(
        "secure-search-draws-from-numpy",
        "model_selection/base.py",
        "SystemGenerator() if self.estimator.secure else np.random.default_rng(seed)",
        "np.random.default_rng(seed)",
        (
            "test_model_selection.py::test_a_secure_search_draws_what_is_secret_from_the_system_alone",
        ),
    ),
    # --- classifier/estimator --------------------------------------------------------------------
    Fault(
        "fit-noise-from-the-queries-seed",
        "classifier/estimator.py",
        'np.random.default_rng(task.seeds["noise"])',
        'np.random.default_rng(task.seeds["queries"])',
        ("test_known_errors.py",),
    ),
    Fault(
        "fit-test-from-the-queries-seed",
        "classifier/estimator.py",
        'self._run_private_test(plan, votes, task.seeds["test"])',
        'self._run_private_test(plan, votes, task.seeds["queries"])',
        ("test_known_errors.py",),
    ),
    Fault(
        "fit-seedless-noise-is-constant",
        "classifier/seeds.py",
        "streams = {use: np.random.SeedSequence() for use in _USES}",
        "streams = {use: np.random.SeedSequence(0) for use in _USES}",
        ("test_classifier.py::test_without_a_seed_nothing_repeats",),
    ),
    Fault(
        "fit-test-before-the-ledger",
        "classifier/estimator.py",
        "        self._pay_for_labels(task, plan)\n"
        '        self._run_private_test(plan, votes, task.seeds["test"])\n',
        '        self._run_private_test(plan, votes, task.seeds["test"])\n'
        "        self._pay_for_labels(task, plan)\n",
        ("test_ledger.py::test_a_private_test_is_paid_for_whether_it_passes_or_not",),
    ),
    Fault(
        "fit-labels-before-the-ledger",
        "classifier/estimator.py",
        "            released = self._release(task, plan, rows, votes, progress)\n"
        "            return self._learn(task, released, progress)\n\n"
        "    def fit_student(",
        "            task = task._replace(is_paid=True)\n"
        "            released = self._release(task, plan, rows, votes, progress)\n"
        "            self._pay(plan.spent.paid(), plan.cost)\n"
        "            return self._learn(task, released, progress)\n\n"
        "    def fit_student(",
        ("test_ledger.py::test_what_is_spent_is_written_down_before_labels_are_released",),
    ),
    Fault(
        "fit-one-label-beyond-the-budget",
        "classifier/release.py",
        "asked = positions[:n_asked]\n    drawn = drawn.first(n_asked)\n",
        "asked = positions[: n_asked + 1]\n    drawn = drawn.first(n_asked + 1)\n",
        ("test_mechanisms.py::test_a_fit_asks_what_the_filter_lets_through",),
    ),
    Fault(
        "fit-epsilon-of-the-answered",
        "classifier/release.py",
        "            n_queries=len(self.query_indices),\n",
        "            epsilon=self.spent.epsilon * (self.labels >= 0).mean(),\n"
        "            n_queries=len(self.query_indices),\n",
        ("test_classifier.py::test_the_guarantee_is_for_the_queries_asked_not_answered",),
    ),
    Fault(
        "pickle-keeps-the-seed",
        "classifier/estimator.py",
        'state["random_state"] = None',
        'state.setdefault("random_state", None)',
        ("test_known_errors.py",),
    ),
    Fault(
        "pickle-keeps-the-curator",
        "classifier/estimator.py",
        'state.pop("curator_", None)',
        'state.get("curator_", None)',
        ("test_privacy.py",),
    ),
    Fault(
        "pickle-keeps-fitted-parameters",
        "classifier/estimator.py",
        "state[name] = unfitted(state[name])",
        "state[name] = state[name]",
        ("test_privacy.py",),
    ),
    # --- the audit -------------------------------------------------------------------------------
    Fault(
        "audit-starts-follow-from-the-statement-alone",
        "audit/query.py",
        "    if contradicts:  # the statement is no guide",
        "    if False:",
        (
            "test_audit.py::test_a_sampler_without_the_noise_that_it_states_is_seen",
            "test_audit.py::test_a_sampler_that_lies_at_some_votes_is_seen",
        ),
    ),
    Fault(
        "audit-looks-at-one-tie-alone",
        "audit/statement.py",
        "    pairs = pairs[:, : n_outcomes // (2 * _LEAST)]",
        "    pairs = pairs[:, :1]",
        ("test_audit.py",),
    ),
    Fault(
        "audit-looks-not-at-unanimity",
        "audit/pairs.py",
        "    for margin in (0, 2, -2, n_teachers):",
        "    for margin in (0, 2, -2):",
        ("test_audit.py",),
    ),
    Fault(
        "audit-looks-at-one-class-alone",
        "audit/pairs.py",
        "    for top in 1 + rng.permutation(n_classes - 1)[:_MOST_CLASSES]:",
        "    for top in ():",
        ("test_audit.py",),
    ),
    Fault(
        "audit-alarms-are-not-shared-among-tests",
        "audit/statement.py",
        "2 * sides.min() * proba.size)",
        "2 * sides.min())",
        ("test_audit.py::test_true_statements_are_contradicted_as_seldom_as_it_says",),
    ),
    Fault(
        "audit-unnamed-outcomes-pass",
        "audit/statement.py",
        "        if seen[len(stated) :].any():",
        "        if False:",
        ("test_audit.py::test_outcomes_that_are_not_stated_contradict",),
    ),
    Fault(
        "audit-compares-no-samples-of-the-pair",
        "audit/query.py",
        "bool(contradicts or p_value(every, stated) <= alarm)",
        "bool(contradicts)",
        ("test_audit.py::test_samples_of_a_given_pair_are_compared_as_well",),
    ),
    Fault(
        "audit-pairs-by-the-samples-that-chose-them",
        "audit/query.py",
        "    counts = _sample_pair(mechanism, pair, n_to_bound, rng)",
        "    counts = [(n_to_bound // n_to_choose) * part for part in pilot]",
        ("test_audit.py",),
    ),
    Fault(
        "audit-looks-elsewhere-with-the-pairs-draws",
        "audit/query.py",
        "        return rng.spawn(1)[0]",
        "        return rng",
        ("test_audit.py::test_a_true_statement_is_the_guide_as_before",),
    ),
    # --- the ledger ------------------------------------------------------------------------------
    Fault(
        "ledger-each-filter-has-all-of-delta",
        "ledger/filters.py",
        "deltas = delta_left * _PARTS",
        "deltas = delta_left * np.ones(len(_PARTS))",
        ("test_ledger.py::test_the_parts_of_delta_are_no_more_than_delta",),
    ),
    Fault(
        "ledger-nothing-set-aside-for-failures",
        "ledger/filters.py",
        "delta_left = budget.delta - budget.failure_probability",
        "delta_left = budget.delta",
        ("test_ledger.py::test_the_parts_of_delta_are_no_more_than_delta",),
    ),
    Fault(
        "ledger-failures-do-not-add-up",
        "ledger/filters.py",
        "math.fsum(cost.delta for cost in self.costs) >",
        "self.costs[-1].delta >",
        ("test_ledger.py::test_fits_with_a_delta_of_their_own_get_what_is_set_aside",),
    ),
    Fault(
        "ledger-any-fit-may-take-all",
        "ledger/filters.py",
        "if is_only_fit and epsilon >",
        "if epsilon >",
        ("test_ledger.py::test_a_first_fit_may_take_all_and_then_nothing_follows",),
    ),
    Fault(
        "ledger-last-fit-not-added",
        "ledger/ledger.py",
        "if before.plus(cost).epsilon() <=",
        "if before.epsilon() <=",
        ("test_ledger.py::test_what_is_over_budget_is_refused_before_teachers_train",),
    ),
    Fault(
        "ledger-best-filter-of-each-fit",
        "ledger/filters.py",
        "math.fsum(filter_amounts)",
        "max(filter_amounts)",
        ("test_ledger.py::test_random_sequences_of_fits_cost_no_more_than_the_ledger_says",),
    ),
    Fault(
        "ledger-pure-step-as-its-epsilon",
        "ledger/filters.py",
        "min(cost.mu_squared, pure_to_gdp(float(cost.pure)) ** 2)",
        "min(cost.mu_squared, float(cost.pure) ** 2)",
        ("test_ledger.py::test_gaussian_and_pure_fits_share_a_gaussian_ledger",),
    ),
    Fault(
        "ledger-trusts-the-object",
        "ledger/ledger.py",
        "        budget_in_file, file_id = read_budget(db)\n",
        "        budget_in_file, file_id = self._budget, read_budget(db)[1]\n",
        ("test_ledger.py::test_what_a_ledger_is_cannot_be_set",),
    ),
    Fault(
        "ledger-any-file-of-the-same-budget",
        "ledger/ledger.py",
        "if file_id != self._file_id:",
        "if not file_id:",
        ("test_ledger.py::test_objects_refuse_a_file_that_replaced_theirs",),
    ),
    Fault(
        "ledger-lost-file-made-anew",
        "ledger/file.py",
        'def transaction(path, mode="rw"):',
        'def transaction(path, mode="rwc"):',
        ("test_ledger.py::test_objects_refuse_a_file_that_replaced_theirs",),
    ),
    Fault(
        "ledger-entry-lost-in-a-power-cut",
        "ledger/file.py",
        "PRAGMA synchronous = EXTRA",
        "PRAGMA synchronous = NORMAL",
        ("test_ledger.py::test_entries_survive_a_power_cut",),
    ),
    Fault(
        "pure-to-gdp-half",
        "rdp/conversion.py",
        "return float(2 * half * (1 + 1e-12))",
        "return float(half * (1 + 1e-12))",
        ("test_rdp.py::test_a_pure_step_is_gaussian_dp_by_mpmath",),
    ),
    Fault(
        "pure-to-gdp-rounded-down",
        "rdp/conversion.py",
        "return float(2 * half * (1 + 1e-12))",
        "return float(2 * half * (1 - 1e-12))",
        ("test_rdp.py::test_a_pure_step_is_gaussian_dp_by_mpmath",),
    ),
    Fault(
        "worst-pure-query-as-its-epsilon",
        "rdp/cost.py",
        "mu_squared=min(facts_of(aggregator).gdp_mu, pure_to_gdp(pure)) ** 2,",
        "mu_squared=min(facts_of(aggregator).gdp_mu, pure) ** 2,",
        (
            "test_ledger.py::test_a_gaussian_ledger_pays_for_as_many_fits_as_their_exact_composition_allows",
        ),
    ),
    Fault(
        "stable-one-run-is-gaussian",
        "aggregators/stable.py",
        "mu_squared=n_runs * pure_to_gdp(run_epsilon) ** 2,",
        "mu_squared=pure_to_gdp(run_epsilon) ** 2,",
        (
            "test_ledger.py::test_a_gaussian_ledger_pays_for_as_many_fits_as_their_exact_composition_allows",
        ),
    ),
    # --- units and their names -------------------------------------------------------------------
    Fault(
        "names-given-are-read-all-the-same",
        "partition.py",
        "        if self.names is not None:\n            return self.names\n        return tuple(",
        "        return tuple(",
        ("test_partition.py::test_all_records_of_a_name_leave_and_one_teacher_moves",),
    ),
    Fault(
        "names-read-claim-to-be-public",
        "partition.py",
        "return Adjacency.CHANGE_NAMED_GROUP_NEVER_EMPTY",
        "return Adjacency.CHANGE_NAMED_GROUP",
        ("test_partition.py::test_without_names_the_adjacency_says_that_a_name_must_stay",),
    ),
    Fault(
        "names-unit-is-the-record",
        "partition.py",
        "    if isinstance(partition, GroupPartition | PredefinedPartition):\n",
        "    if isinstance(partition, GroupPartition):\n",
        (
            "test_partition.py::test_without_names_the_adjacency_says_that_a_name_must_stay",
            "test_partition.py::test_predefined_gives_each_named_group_its_teacher",
        ),
    ),
    Fault(
        "names-not-listed-go-to-the-last",
        "partition.py",
        "        if (teacher_indices < 0).any():\n"
        "            raise ValueError(\n"
        '                f"groups has a name',
        "        teacher_indices = teacher_indices % len(names)\n"
        "        if False:\n"
        "            raise ValueError(\n"
        '                f"groups has a name',
        (
            "test_partition.py::test_a_record_of_a_name_that_is_not_listed_is_refused_and_not_quoted",
        ),
    ),
    Fault(
        "names-may-be-spelled-alike",
        "identifiers.py",
        "    if not spelled or len(set(spelled)) < len(spelled):\n",
        "    if not spelled:\n",
        ("test_partition.py::test_names_that_cannot_be_told_apart_are_refused",),
    ),
    Fault(
        "names-seed-by-position",
        "teachers/ensemble.py",
        "    if names is None:\n        return [seed_number(child)",
        "    if True:\n        return [seed_number(child)",
        (
            "test_partition.py::test_another_name_leaves_the_teachers_of_others_as_they_are",
            "test_partition.py::test_sites_have_the_teachers_of_the_same_names",
        ),
    ),
    Fault(
        "names-do-not-reach-the-seeds",
        "teachers/electorate.py",
        "            names=self._assignment.names,\n",
        "",
        ("test_partition.py::test_another_name_leaves_the_teachers_of_others_as_they_are",),
    ),
    Fault(
        "names-kept-votes-by-position",
        "teachers/ensemble.py",
        "identities = range(len(seeds)) if names is None else names",
        "identities = range(len(seeds))",
        ("test_partition.py::test_kept_votes_go_by_the_name",),
    ),
    Fault(
        "names-that-are-held-out-keep-a-teacher",
        "model_selection/hold_out.py",
        "strict=True) if part > 0]",
        "strict=True)]",
        ("test_model_selection.py::test_public_names_are_held_out_with_their_teachers",),
    ),
    Fault(
        "names-that-are-trained-are-read-from-the-records",
        "model_selection/hold_out.py",
        "PredefinedPartition(_trained_names(names, n_parts, split_seed))",
        "PredefinedPartition([name for name in names if name in set(units[part > 0])])",
        ("test_model_selection.py::test_public_names_are_held_out_with_their_teachers",),
    ),
    Fault(
        "names-not-listed-may-be-held-out",
        "model_selection/hold_out.py",
        "partition.assign(n_records=n_records, n_teachers=None, groups=groups)",
        "pass",
        ("test_model_selection.py::test_public_names_are_held_out_with_their_teachers",),
    ),
    Fault(
        "sites-names-can-change",
        "teachers/sites.py",
        'object.__setattr__(self, "names", tuple(texts))',
        'object.__setattr__(self, "names", texts)',
        ("test_teachers.py::test_sites_cannot_change_after_they_are_checked",),
    ),
    Fault(
        "identifiers-by-equality",
        "identifiers.py",
        "if values.dtype == object and not _is_of_one_kind(values):",
        "if False:",
        ("test_partition.py::test_numbers_that_cannot_be_compared_are_spelled_each_by_itself",),
    ),
    Fault(
        "identifiers-by-time-zone",
        "identifiers.py",
        'stamp if stamp.tz is None else stamp.tz_convert("UTC")',
        "stamp",
        ("test_partition.py::test_equal_identifiers_are_spelled_alike",),
    ),
    Fault(
        "identifiers-truth-as-text",
        "identifiers.py",
        "return _TRUTH.get(text.lower(), text)",
        "return text",
        ("test_partition.py::test_one_row_does_not_move_its_group",),
    ),
    Fault(
        "identifiers-dates-as-text",
        "identifiers.py",
        "    moment = _MOMENT.fullmatch(text)\n",
        "    moment = None\n",
        ("test_partition.py::test_text_says_what_a_column_would_have_been",),
    ),
    Fault(
        "identifiers-durations-as-numbers",
        "identifiers.py",
        "    if isinstance(identifier, datetime.timedelta | np.timedelta64):\n",
        "    if isinstance(identifier, datetime.timedelta):\n",
        ("test_partition.py::test_equal_identifiers_are_spelled_alike",),
    ),
    Fault(
        "identifiers-rounded-to-a-float",
        "identifiers.py",
        "exact = abs(identifier) < 2 ** (min(digits, 52) + 1)",
        "exact = abs(identifier) <= 2 ** (min(digits, 52) + 1)",
        ("test_partition.py::test_what_has_no_one_spelling_is_refused_whatever_is_beside_it",),
    ),
    Fault(
        "identifiers-by-their-address",
        "identifiers.py",
        '    raise _NoSpelling("values that cannot be compared")\n',
        "    return str(identifier)\n",
        ("test_partition.py::test_what_has_no_one_spelling_is_refused_whatever_is_beside_it",),
    ),
    Fault(
        "identifiers-under-a-mask",
        "identifiers.py",
        "    if isinstance(values, np.ma.MaskedArray):\n",
        "    if False:\n",
        ("test_partition.py::test_rows_that_are_masked_are_missing",),
    ),
    # --- units and their names, 2 ----------------------------------------------------------------
    Fault(
        "unit-of-groups-said-to-be-records",
        "partition.py",
        "    if isinstance(partition, GroupPartition | PredefinedPartition):\n",
        "    if False:\n",
        ("test_partition.py",),
    ),
    # --- workers, messages and what is kept ------------------------------------------------------
    Fault(
        "schema-order-of-categories",
        "schema.py",
        "return equal and _beyond_equality(private) == _beyond_equality(public)",
        "return equal",
        ("bad_input/test_schema.py",),
    ),
    Fault(
        "schema-codes-of-their-own",
        "schema.py",
        'return Difference("codes", coded) if coded else None',
        "return None",
        ("bad_input/test_schema.py::test_codes_that_are_given_out_as_values_appear_are_refused",),
    ),
    Fault(
        "schema-codes-within-lists",
        "schema.py",
        'for kind in _within(getattr(dtype, "pyarrow_dtype", dtype)):',
        'for kind in [getattr(dtype, "pyarrow_dtype", dtype)]:',
        ("bad_input/test_schema.py::test_codes_that_are_given_out_as_values_appear_are_refused",),
    ),
    Fault(
        "schema-columns-not-compared",
        "schema.py",
        'return Difference("columns", [])',
        "pass",
        (
            "bad_input/test_schema.py",
            "test_teachers.py",
        ),
    ),
    Fault(
        "sites-not-compared",
        "teachers/sites.py",
        "raise TellableError(_WRONG_FORM[wrong.kind])",
        "pass",
        (
            "bad_input/test_schema.py::test_sites_are_compared_as_other_rows_are",
            "test_teachers.py",
        ),
    ),
    Fault(
        "error-names-itself",
        "isolation/redaction.py",
        "                if namespace.get(name) is kind:\n",
        "                if True:\n"
        "                    return type(error).__name__\n"
        "                if namespace.get(name) is kind:\n",
        (
            "test_isolation.py::test_of_an_error_a_known_name_is_told",
            "test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",
        ),
    ),
    Fault(
        "error-name-without-identity",
        "isolation/redaction.py",
        "if namespace.get(name) is kind:",
        "if name == kind.__name__:",
        ("test_isolation.py::test_of_an_error_a_known_name_is_told",),
    ),
    Fault(
        "error-about-a-parameter-told-whole",
        "isolation/redaction.py",
        "reason = _wrong_parameter(estimator) or reason",
        "reason = text",
        ("test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",),
    ),
    Fault(
        "error-of-an-array-holds-another",
        "rdp/checks.py",
        "    with contextlib.suppress(TypeError, ValueError):\n"
        "        return np.asarray(value, dtype=dtype)\n",
        "    try:\n"
        "        return np.asarray(value, dtype=dtype)\n"
        "    except (TypeError, ValueError) as error:\n"
        '        raise ValueError(f"{name} must have rows of one length") from error\n',
        ("test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",),
    ),
    Fault(
        "error-of-a-partition-told",
        "isolation/redaction.py",
        "        failed = known_name(error)\n    if interrupted:",
        "        failed = repr(error)\n    if interrupted:",
        ("test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",),
    ),
    Fault(
        "error-tells-the-width-of-labels",
        "isolation/redaction.py",
        'return _KINDS.get(dtype.kind, "values of another kind")',
        'return f"{_KINDS.get(dtype.kind)} {dtype}"',
        ("test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",),
    ),
    Fault(
        "interrupt-holds-another",
        "teachers/one.py",
        "            interrupted = True\n        except BaseException as error:  # SystemExit too",
        "            raise KeyboardInterrupt from None\n"
        "        except BaseException as error:  # SystemExit too",
        ("test_noninterference.py::test_errors_are_the_same_whatever_was_in_the_data",),
    ),
    Fault(
        "parts-keep-attrs",
        "isolation/copies.py",
        "    rows.attrs = {}\n",
        "",
        ("test_isolation.py::test_a_part_has_no_notes_of_all_rows",),
    ),
    Fault(
        "descriptors-not-silenced",
        "isolation/silence.py",
        "                os.dup2(nowhere, descriptor)\n",
        "                pass\n",
        ("test_isolation.py::test_what_is_written_below_pythons_streams_is_dropped",),
    ),
    Fault(
        "descriptors-flushed-too-late",
        "isolation/silence.py",
        "    finally:\n        _flush()\n        for descriptor, duplicate",
        "    finally:\n        for descriptor, duplicate",
        ("test_isolation.py::test_what_is_written_below_pythons_streams_is_dropped",),
    ),
    Fault(
        "memory-blind-to-code",
        "teachers/ensemble.py",
        "digest(data, estimators, options, code_digest(estimators))",
        "digest(data, estimators, options)",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-blind-to-what-code-names",
        "memory.py",
        "        self.add_named(function.__code__, function.__globals__)\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-blind-to-bases",
        "memory.py",
        "        for base in kind.__bases__:\n            self.add(base)\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-blind-to-defaults",
        "memory.py",
        "        self.add(function.__kwdefaults__)\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-by-order-of-sets",
        "memory.py",
        'self.token("set", sorted(map(self.alone, value)))',
        'self.token("set", list(map(self.alone, value)))',
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-blind-to-versions",
        "memory.py",
        'self.token("library", top, _version(top))',
        'self.token("library", top)',
        ("test_memory.py::test_another_version_of_a_library_counts_as_a_change",),
    ),
    Fault(
        "memory-read-by-others",
        "memory.py",
        "if inner_stat.st_mode & (stat.S_IRWXG | stat.S_IRWXO):",
        "if inner_stat.st_mode & stat.S_IRWXO:",
        ("test_memory.py::test_folders_that_others_may_read_or_write_are_refused",),
    ),
    Fault(
        "memory-of-others",
        "memory.py",
        "if owners != {os.getuid()}:",
        "if not owners:",
        ("test_memory.py::test_a_folder_of_another_user_is_refused",),
    ),
    Fault(
        "memory-written-by-others",
        "memory.py",
        "if may_write and not outer_stat.st_mode & stat.S_ISVTX:",
        "if False:",
        ("test_memory.py::test_folders_that_others_may_read_or_write_are_refused",),
    ),
    # --- what is said while private values are handled -------------------------------------------
    Fault(
        "said-of-labels",
        "classifier/checks.py",
        "with Quiet():  # from here on, libraries warn of private values",
        "if True:",
        ("test_noninterference.py::test_nothing_says_what_private_values_are",),
    ),
    Fault(
        "said-by-a-partition",
        "teachers/electorate.py",
        "with Quiet(), seeded(seed_number(seed)):",
        "with seeded(seed_number(seed)):",
        ("test_noninterference.py::test_nothing_says_what_private_values_are",),
    ),
    Fault(
        "said-by-a-mechanism",
        "classifier/mechanism.py",
        "with Quiet():  # a mechanism of the user's may warn of votes, or print them",
        "if True:",
        ("test_noninterference.py::test_nothing_says_what_private_values_are",),
    ),
    Fault(
        "votes-in-an-error",
        "classifier/mechanism.py",
        "    if failed is not None:\n"
        "        raise ValueError(\n"
        '            f"{type(aggregator).__name__} could not draw',
        "    if failed is not None:\n"
        "        return _checked_release(aggregator, votes, proba, noise)\n"
        "        raise ValueError(\n"
        '            f"{type(aggregator).__name__} could not draw',
        (
            "test_noninterference.py"
            "::test_a_mechanism_of_ones_own_does_not_quote_votes_in_its_errors",
        ),
    ),
    Fault(
        "mechanism-of-ours-by-its-beginning",
        "classifier/mechanism.py",
        'type(part).__module__.partition(".")[0] == __package__.partition(".")[0]',
        'type(part).__module__.startswith(__package__.partition(".")[0])',
        (
            "test_noninterference.py"
            "::test_a_mechanism_of_ones_own_does_not_quote_votes_in_its_errors",
        ),
    ),
    Fault(
        "index-of-whole-floats",
        "isolation/copies.py",
        "if isinstance(identifier, float) and identifier.is_integer():",
        "if False:",
        ("test_isolation.py::test_one_records_index_changes_no_other_index",),
    ),
    # --- units and their names, 3 ----------------------------------------------------------------
    Fault(
        "identifiers-with-their-spaces",
        "identifiers.py",
        "    text = text.strip(_PADDING)\n",
        '    text = text.rstrip("\\0")\n',
        ("test_partition.py::test_one_malformed_row_of_a_file_moves_nobody",),
    ),
    Fault(
        "identifiers-exponent-as-text",
        "identifiers.py",
        "    if n_zeros >= 0 and n_whole <= 16 and int(",
        "    if n_zeros >= 0 and exponent is None and n_whole <= 16 and int(",
        ("test_partition.py::test_one_malformed_row_of_a_file_moves_nobody",),
    ),
    Fault(
        "identifiers-exponent-off-by-the-fraction",
        "identifiers.py",
        'zeros = int(exponent or 0) - len(fraction or "")',
        "zeros = int(exponent or 0) - len(digits) + 1 if fraction else int(exponent or 0)",
        ("test_partition.py::test_one_malformed_row_of_a_file_moves_nobody",),
    ),
    Fault(
        "identifiers-text-that-reading-rounds",
        "identifiers.py",
        '    if not exact_decimals.strip("0") or not exact_decimals.strip("9"):\n',
        "    if n_zeros >= 0:\n",
        ("test_partition.py::test_a_number_of_a_file_is_spelled_as_its_text",),
    ),
    Fault(
        "identifiers-text-of-large-floats",
        "identifiers.py",
        "    if n_zeros >= 0 and text.isalnum():",
        "    if n_zeros >= 0:",
        ("test_partition.py::test_what_has_no_one_spelling_is_refused_whatever_is_beside_it",),
    ),
    Fault(
        "identifiers-text-of-short-floats",
        "identifiers.py",
        "            _check_not_rounded(text, int(number))\n",
        "            pass\n",
        ("test_partition.py::test_floats_that_numpy_made_text_of_are_the_same_or_refused",),
    ),
    Fault(
        "identifiers-dates-of-iso-only",
        "identifiers.py",
        "date = f\"{year}-{month:0>2}-{day or '01':0>2}\"",
        "date = text[:10]",
        ("test_partition.py::test_one_malformed_row_of_a_file_moves_nobody",),
    ),
    Fault(
        "identifiers-dates-apart-from-compact-text",
        "identifiers.py",
        '        return text[:10].replace("-", "")\n',
        "        return text\n",
        ("test_partition.py::test_a_date_is_the_number_of_its_compact_text",),
    ),
    Fault(
        "identifiers-surrogates-as-pandas-hashes-them",
        "identifiers.py",
        "        if values.dtype == object or _is_text(values.dtype):\n",
        "        if False:\n",
        ("test_partition.py::test_text_is_told_apart_by_itself",),
    ),
    Fault(
        "identifiers-surrogates-in-columns-of-text",
        "identifiers.py",
        "        if values.dtype == object or _is_text(values.dtype):\n",
        "        if values.dtype == object:\n",
        ("test_partition.py::test_text_is_told_apart_by_itself",),
    ),
    Fault(
        "groups-split-by-hash-of-pandas",
        "partition.py",
        "group_indices, distinct = factorize_texts(groups)",
        "group_indices, distinct = pd.factorize(np.asarray(groups, dtype=object))",
        ("test_partition.py::test_text_is_told_apart_by_itself",),
    ),
    # --- what is kept, 2 -------------------------------------------------------------------------
    Fault(
        "memory-blind-to-values-of-variables",
        "memory.py",
        "            if not is_changed and not isinstance(value, _VARYING):\n"
        "                self.add(value)\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-by-what-a-fit-changed",
        "memory.py",
        "        written.update(_changed(steps))\n",
        "",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-by-items-a-fit-wrote",
        "memory.py",
        "if calls or assigns or augments:",
        "if calls or augments:",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-by-items-a-fit-added-to",
        "memory.py",
        "if calls or assigns or augments:",
        "if calls or assigns:",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-by-random-generators",
        "memory.py",
        "if not is_changed and not isinstance(value, _VARYING):",
        "if not is_changed:",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-by-environment",
        "memory.py",
        "np.random.RandomState, type(os.environ))",
        "np.random.RandomState)",
        ("test_memory.py::test_code_that_changed_is_run_anew_and_the_same_is_not",),
    ),
    Fault(
        "memory-blind-to-statements-in-blocks",
        "memory.py",
        "list(_statements(ast.parse(file.read()).body))",
        "ast.parse(file.read()).body",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-blind-to-metaclasses",
        "memory.py",
        "        self.add(type(kind))\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-blind-to-attributes-of-functions",
        "memory.py",
        "        self.add(function.__dict__)\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-blind-to-state-beside-lambdas",
        "memory.py",
        '            obj = "code"\n',
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-lost-in-a-set",
        "memory.py",
        "        code.objects = self.objects.copy()  # a function may name the set that it is in\n",
        "",
        ("test_memory.py::test_each_edit_of_code_is_noticed",),
    ),
    Fault(
        "memory-by-addresses-of-tensors",
        "memory.py",
        '                obj = ("tensor", obj.numpy(force=True))\n',
        "                pass\n",
        ("test_memory.py::test_tensors_count_by_their_values",),
    ),
    # --- units and their names, 4 ----------------------------------------------------------------
    # --- electorates -----------------------------------------------------------------------------
    Fault(
        "enrol-quotes-records",
        "classifier/voting.py",
        "        ballots, failed = attempt(\n"
        "            lambda: electorate.enrol(private, X_public, seed=seed, memory=memory)\n"
        "        )\n",
        "        failed = None\n"
        "        ballots = electorate.enrol(private, X_public, seed=seed, memory=memory)\n",
        ("test_electorate.py",),
    ),
    Fault(
        "vote-quotes-records",
        "classifier/voting.py",
        "cast_votes, failed = attempt(lambda: cast(*given, lambda n: on_done(int(n))))",
        "cast_votes, failed = cast(*given, lambda n: on_done(int(n))), None",
        ("test_electorate.py",),
    ),
    Fault(
        "vote-prints-records",
        "classifier/voting.py",
        "with isolated(seed_number(seed)):",
        "if True:",
        ("test_electorate.py",),
    ),
    Fault(
        "votes-of-an-electorate-unchecked",
        "classifier/voting.py",
        "if counts.shape[:1] != (n_queries,) or not are_complete(votes):",
        "if False:",
        ("test_electorate.py",),
    ),
    Fault(
        "unit-of-an-electorate-unchecked",
        "classifier/estimator.py",
        'if self.unit == "group" and ballots.unit != "group":',
        "if False:",
        ("test_electorate.py",),
    ),
    Fault(
        "private-data-pickled",
        "electorate.py",
        'raise TypeError("private data cannot be pickled or copied")',
        "return PrivateData, ()",
        ("test_electorate.py",),
    ),
    # --- the supremum's peak ---------------------------------------------------------------------
    Fault(
        "supremum-of-a-narrow-peak",
        "rdp/supremum.py",
        "last_step = 2e-4 * min(1, 30 * region.one_vote)",
        "last_step = 2e-4",
        ("test_worst_case.py::test_a_peak_as_narrow_as_one_vote_is_found",),
    ),
    # --- electorates that mean harm -------------------------------------------------------------
    Fault(
        "soft-labels-at-the-cost-of-labels",
        "classifier/mechanism.py",
        "    if has_distribution(aggregator):\n"
        "        raise ValueError(\n"
        '            f"{type(aggregator).__name__} must release labels alone',
        "    if False:\n"
        "        raise ValueError(\n"
        '            f"{type(aggregator).__name__} must release labels alone',
        ("test_electorate.py",),
    ),
    Fault(
        "rows-held-out-from-an-electorate",
        "model_selection/base.py",
        "if isinstance(voter, Electorate) and not isinstance(voter, TableElectorate):",
        "if False:",
        ("test_electorate.py",),
    ),
    Fault(
        "an-electorate-writes-into-public-rows",
        "classifier/voting.py",
        "return own, copied_data(X_public)",
        "return own, X_public",
        ("test_electorate.py",),
    ),
    Fault(
        "an-electorate-seeds-the-process",
        "classifier/voting.py",
        "with isolated(fresh_seed() if seed is None else seed_number(seed)):",
        "if True:",
        ("test_electorate.py",),
    ),
    Fault(
        "a-used-ensemble-is-pickled-whole",
        "electorate.py",
        "        return self.get_params(deep=False)\n",
        "        return vars(self)\n",
        ("test_electorate.py",),
    ),
    Fault(
        "ballots-tell-a-private-number",
        "electorate.py",
        "known is not None and not known.n_records_is_public",
        "False",
        ("test_electorate.py",),
    ),
    Fault(
        "supremum-of-the-lower-of-two-peaks",
        "rdp/supremum.py",
        "for part in (is_low, ~is_low):",
        "for part in (is_low | ~is_low,):",
        ("test_worst_case.py::test_the_higher_of_two_peaks_is_found",),
    ),
    Fault(
        "supremum-ends-below-the-top",
        "rdp/ascent.py",
        "_NO_RISE = 1e-8",
        "_NO_RISE = 1e-4",
        ("test_worst_case.py",),
    ),
    Fault(
        "slope-without-the-rivals",
        "rdp/noise.py",
        "first_gains + np.exp(level - log_first),",
        "first_gains,",
        ("test_worst_case.py::test_slopes_of_the_cost_are_its_differences",),
    ),
    Fault(
        "slope-of-one-distribution-alone",
        "rdp/supremum.py",
        'slopes += np.einsum("ij,kij->ki", of_ratio, slopes_p - slopes_q)',
        "pass",
        ("test_worst_case.py::test_slopes_of_the_cost_are_its_differences",),
    ),
    Fault(
        "rounding-hides-a-vote-among-many-classes",
        "rdp/worst_case.py",
        "_LARGEST_SEARCHED = 1e8",
        "_LARGEST_SEARCHED = 1e300",
        ("test_worst_case.py::test_rounding_hides_no_vote",),
    ),
    Fault(
        "rounding-hides-a-vote-between-two-classes",
        "rdp/worst_case.py",
        "largest + orders * _LOST_LOSS**2 / 2",
        "largest",
        ("test_worst_case.py::test_rounding_hides_no_vote",),
    ),
    Fault(
        "pure-cost-of-one-rival",
        "rdp/noise.py",
        "n_rivals * cls.log_cdf(x)",
        "cls.log_cdf(x)",
        ("test_worst_case.py",),
    ),
    Fault(
        "known-cost-of-other-teachers",
        "accountant/calibration.py",
        "orders.tobytes(), tuple(sizes.items()))\n",
        'orders.tobytes(), (*sizes.items(), ("n_teachers", 250)))\n',
        ("test_accountant.py",),
    ),
    Fault(
        "known-cost-of-a-threshold-of-another-kind",
        "accountant/calibration.py",
        "(name, type(value), value) for name",
        "(name, None, value) for name",
        ("test_accountant.py",),
    ),
    Fault(
        "known-cost-of-an-own-mechanism",
        "accountant/calibration.py",
        "if not (is_ours and is_plain):",
        "if not is_plain:",
        ("test_accountant.py::test_costs_of_a_mechanism_of_ones_own_are_not_remembered",),
    ),
    Fault(
        "supremum-interpolated-across-peaks",
        "rdp/supremum.py",
        "unclear = rest[~(is_top & is_one_peak[np.searchsorted(few, rest) - 1])]",
        "unclear = rest[~is_top]",
        ("test_worst_case.py::test_orders_searched_together_cost_what_each_costs_alone",),
    ),
    # --- records that vote -----------------------------------------------------------------------
    Fault(
        "table-of-replaced-records-at-half-the-price",
        "neighbors/electorate.py",
        'moved = 2 if self.adjacency == "replace" else 1',
        "moved = 1",
        ("test_neighbors.py::test_each_record_casts_as_many_ballots_as_it_says",),
    ),
    Fault(
        "table-of-many-ballots-at-the-price-of-one",
        "neighbors/electorate.py",
        "n_changed=moved * int(self.n_neighbors),",
        "n_changed=moved,",
        ("test_neighbors.py::test_each_record_casts_as_many_ballots_as_it_says",),
    ),
    Fault(
        "table-with-half-the-noise",
        "aggregators/table.py",
        "DiscreteLaplace(GRID / self._drawn_size)",
        "DiscreteLaplace(2 * GRID / self._drawn_size)",
        ("test_table.py::test_the_noise_follows_its_law",),
    ),
    Fault(
        "table-of-rounded-noise-called-pure",
        "aggregators/table.py",
        '        """Whether the noise is discrete: if it is rounded, delta 0 is not true."""\n'
        '        return self.noise == "discrete"',
        "        return True",
        ("test_neighbors.py::test_other_noise_spends_delta",),
    ),
    Fault(
        "table-group-counted-by-its-records",
        "neighbors/ballots.py",
        "        shares = shares // np.bincount(groups)[group]\n",
        "",
        ("test_neighbors.py::test_a_group_casts_one_ballot_in_all",),
    ),
    Fault(
        "table-groups-by-the-place-of-their-identifiers",
        "neighbors/electorate.py",
        '_, numbers = np.unique(spelled_identifiers(groups, "groups"), return_inverse=True)',
        "numbers = np.unique(np.asarray(groups, dtype=object).astype(str), return_index=True)[1]",
        ("test_neighbors.py::test_a_group_is_one_whatever_its_identifiers_are",),
    ),
    Fault(
        "table-odd-rows-left-out",
        "neighbors/transform.py",
        "for batch in _beside_odd_rows(few) if are_alike else ():",
        "for batch in ():",
        ("test_neighbors.py::test_odd_rows_show_what_public_rows_do_not",),
    ),
    Fault(
        "table-number-of-ballots-overflows",
        "neighbors/electorate.py",
        "n_changed=moved * int(self.n_neighbors),",
        "n_changed=moved * self.n_neighbors,",
        ("test_short_numbers.py::test_a_record_pays_for_every_cell_that_it_casts_in",),
    ),
    Fault(
        "table-noise-of-a-short-float",
        "aggregators/table.py",
        "return float(size)",
        "return size",
        ("test_short_numbers.py::test_tables_cost_and_draw_the_same",),
    ),
    Fault(
        "cap-of-a-short-float",
        "accountant/checks.py",
        "return (None if epsilon is None else float(epsilon)), float(delta)",
        "return epsilon, delta",
        ("test_short_numbers.py::test_a_cost_just_above_the_cap_is_not_rounded_to_it",),
    ),
    Fault(
        "tuning-shape-of-a-short-number",
        "rdp/tuning.py",
        '        object.__setattr__(self, "eta", float(self.eta))\n',
        "",
        ("test_short_numbers.py::test_numbers_of_trials_cost_and_are_drawn_the_same",),
    ),
    Fault(
        "stable-threshold-of-a-short-float",
        "aggregators/stable.py",
        "failure_probability=float(self.failure_probability),\n            n_queries",
        "failure_probability=self.failure_probability,\n            n_queries",
        ("test_short_numbers.py::test_mechanisms_cost_and_draw_the_same",),
    ),
    Fault(
        "table-noise-that-is-not-set-breaks-dir",
        "aggregators/table.py",
        "raise AttributeError(",
        "raise TypeError(",
        ("test_table.py::test_noise_that_is_yet_to_be_set_has_no_deviation",),
    ),
    Fault(
        "table-odd-values-without-missing",
        "neighbors/odd.py",
        "ODD = (_extreme, _half_missing, _half_none, _unseen)",
        "ODD = (_extreme, _half_none, _unseen)",
        ("test_neighbors.py::test_odd_values_of_every_kind_of_column_are_tried",),
    ),
    Fault(
        "table-odd-values-without-none",
        "neighbors/odd.py",
        "ODD = (_extreme, _half_missing, _half_none, _unseen)",
        "ODD = (_extreme, _half_missing, _unseen)",
        ("test_neighbors.py::test_odd_values_of_arrays_of_texts_are_tried",),
    ),
    Fault(
        "table-odd-values-without-unseen-categories",
        "neighbors/odd.py",
        "        return _unseen_category(values)\n",
        "        return values\n",
        ("test_neighbors.py::test_odd_values_of_every_kind_of_column_are_tried",),
    ),
    Fault(
        "teachers-sent-back-by-joblib",
        "teachers/one.py",
        "if fitted is not None and os.getpid() != settings.caller:",
        "if False:",
        ("test_privacy.py::test_a_fitted_teacher_that_cannot_be_sent_back_says_nothing",),
    ),
    Fault(
        "teachers-loaded-without-isolation",
        "teachers/one.py",
        "    with isolated(0):\n        return attempt(partial(pickle.loads",
        "    with Quiet():\n        return attempt(partial(pickle.loads",
        ("test_privacy.py::test_a_teacher_that_is_sent_back_moves_no_generator",),
    ),
    Fault(
        "table-odd-values-of-all-columns-at-once",
        "neighbors/transform.py",
        "change(column) if column.dtype.name == dtype else column for",
        "change(column) for",
        ("test_neighbors.py::test_a_column_that_fails_at_odd_values_hides_no_other",),
    ),
    Fault(
        "table-odd-sparse-rows-without-missing",
        "neighbors/transform.py",
        "        missing.data[::2] = np.nan\n",
        "",
        ("test_neighbors.py::test_odd_entries_of_sparse_rows_are_tried",),
    ),
    Fault(
        "search-of-no-records-to-train-on-is-an-error",
        "model_selection/base.py",
        "if may_join and train.size == 0:",
        "if False:",
        ("test_ballots_search.py::test_parts_of_no_records_are_no_error",),
    ),
    Fault(
        "search-of-no-records-to-train-on-takes-one-in",
        "model_selection/base.py",
        "= np.zeros(1)",
        "= np.ones(1)",
        ("test_ballots_search.py::test_parts_of_no_records_are_no_error",),
    ),
    Fault(
        "search-plans-one-number-of-ballots",
        "model_selection/candidates.py",
        'return _NOT_IN_PLAN - {"base_estimator"}',
        "return _NOT_IN_PLAN",
        ("test_neighbors.py::test_searches_plan_each_number_of_ballots",),
    ),
    Fault(
        "table-weights-above-one",
        "neighbors/ballots.py",
        "np.clip(sample_weight, 0, 1)",
        "np.clip(sample_weight, 0, None)",
        ("test_table.py::test_a_record_changes_no_more_than_it_says",),
    ),
    Fault(
        "table-cost-of-one-entry",
        "rdp/table.py",
        "n_changed * (one_entry * (1 + 1e-12) + hidden)",
        "one_entry * (1 + 1e-12) + hidden",
        ("test_table.py::test_several_tables_against_loss_distributions",),
    ),
    Fault(
        "table-gaussian-cost-of-one-entry",
        "rdp/table.py",
        "mu_squared = n_changed / sigma**2",
        "mu_squared = 1 / sigma**2",
        ("test_table.py::test_several_tables_against_loss_distributions",),
    ),
    Fault(
        "table-pure-epsilon-rounded-down",
        "rdp/table.py",
        "return nearest if nearest >= exact else math.nextafter(nearest, math.inf)",
        "return math.nextafter(nearest, 0)",
        ("test_table.py::test_pure_epsilon_is_that_of_the_noise_that_is_drawn",),
    ),
    Fault(
        "table-transformer-of-rows-that-influence-each-other",
        "neighbors/transform.py",
        "    if are_alike:\n        return np",
        "    if True:\n        return np",
        ("test_neighbors.py::test_transformers_whose_rows_influence_each_other_are_refused",),
    ),
    Fault(
        "table-one-bad-row-silences-all",
        "neighbors/transform.py",
        "            parts += np.array_split(rows, 2)\n",
        "            pass\n",
        (
            "test_neighbors.py::"
            "test_a_record_that_cannot_be_transformed_casts_no_ballot_and_says_nothing",
        ),
    ),
    Fault(
        "table-asked-beside-queries",
        "classifier/table.py",
        "    check_defaults(estimator, ABOUT_QUERIES)\n",
        "",
        ("test_neighbors.py::test_what_makes_no_sense_together_is_refused",),
    ),
    Fault(
        "table-read-for-rows-in-another-order",
        "classifier/estimator.py",
        "            votes.electorate.check_public(X_public)\n",
        "            pass\n",
        ("test_neighbors.py::test_public_rows_in_another_order_are_refused",),
    ),
    Fault(
        "table-cast-under-another-guarantee",
        "classifier/table.py",
        "        if cast_with != wanted:\n",
        "        if False:\n",
        ("test_neighbors.py::test_votes_that_were_cast_under_another_guarantee_are_refused",),
    ),
    Fault(
        "table-rates-of-one-class-alone",
        "classifier/student.py",
        "least = np.minimum(_LEAST_RATE, rates.max(axis=0) / 2)",
        "least = _LEAST_RATE",
        ("test_neighbors.py::test_rates_of_one_class_train_students_that_take_weights",),
    ),
    Fault(
        "table-kept-by-a-mechanism-of-ones-own",
        "classifier/estimator.py",
        "mechanisms = [clone(aggregator) for aggregator, _ in plan.stages]",
        "mechanisms = [aggregator for aggregator, _ in plan.stages]",
        ("test_neighbors.py::test_a_mechanism_of_ones_own_releases_tables_and_keeps_none",),
    ),
    Fault(
        "table-drawn-by-the-users-own-object",
        "accountant/table.py",
        "mechanism = clone(mechanism)  # the user's may keep the table that it is given",
        "pass",
        (
            "test_neighbors.py::test_a_mechanism_of_ones_own_releases_tables_and_keeps_none",
            "test_released_table.py::"
            "test_what_a_mechanism_keeps_of_a_table_is_not_in_the_classifier[None]",
        ),
    ),
    Fault(
        "table-cost-inherited-by-other-noise",
        "aggregators/rehearsal.py",
        'if "noisy" in vars(mechanism) or not issubclass(costed_by, drawn_by):',
        "if False:",
        ("test_neighbors.py::test_a_mechanism_of_ones_own_is_tried_before_anything_is_spent",),
    ),
    Fault(
        "table-noise-said-after-the-table-is-seen",
        "classifier/table.py",
        "votes.electorate.read(noisy, noise_std=noise_std)",
        "votes.electorate.read(noisy, noise_std=mechanism.noise_std)",
        ("test_neighbors.py::test_noise_is_said_before_the_table_is_seen",),
    ),
    Fault(
        "table-cost-that-is-none",
        "accountant/table.py",
        "if not (numbers >= 0).all() or cost.delta >= 1:",
        "if False:",
        ("test_neighbors.py::test_a_mechanism_of_ones_own_is_tried_before_anything_is_spent",),
    ),
    Fault(
        "table-pure-with-a-delta",
        "accountant/table.py",
        "if mechanism.is_pure and cost.delta > 0:",
        "if False:",
        ("test_neighbors.py::test_a_mechanism_of_ones_own_is_tried_before_anything_is_spent",),
    ),
    Fault(
        "table-noise-below-a-step",
        "aggregators/table.py",
        "_SIZES = Interval(Real, GRID, 1e9,",
        "_SIZES = Interval(Real, 1e-9, 1e9,",
        ("test_table.py::test_noise_that_is_none_or_drowns_all_is_refused",),
    ),
    Fault(
        "hold-out-of-records-that-join-by-a-permutation",
        "model_selection/base.py",
        "if may_join and groups is None:",
        "if False:",
        ("test_ballots_search.py::test_the_number_held_out_varies_where_it_is_private",),
    ),
    Fault(
        "hold-out-scores-those-that-join-by-place",
        "model_selection/hold_out.py",
        "scored = held[np.argsort(place[held])][:MOST_SCORED]",
        "scored = held[np.argsort(place[: len(held)])][:MOST_SCORED]",
        ("test_ballots_search.py::test_a_record_that_joins_moves_no_other",),
    ),
    Fault(
        "hold-out-by-the-estimator-of-the-search",
        "model_selection/base.py",
        "voter.may_join for voter in voters}",
        "voter.may_join for voter in [estimator.base_estimator]}",
        ("test_ballots_search.py::test_coins_follow_the_candidates_that_vote",),
    ),
    Fault(
        "table-audit-moves-one-entry-alone",
        "audit/table.py",
        "neighbour_table.flat[:n_changed] += np.resize([-1, 1], n_changed)",
        "neighbour_table.flat[0] -= 1",
        ("test_audit_table.py::test_most_of_the_loss_of_laplace_noise_is_found",),
    ),
    Fault(
        "table-audit-by-an-unfair-coin",
        "audit/table.py",
        "rng.binomial(2 * n_samples, 0.5)",
        "rng.binomial(2 * n_samples, 0.7)",
        (
            "test_audit_table.py::test_a_bound_is_wrong_as_seldom_as_it_says",
            "test_audit_table.py::test_honest_noise_is_not_refuted",
        ),
    ),
    Fault(
        "table-audit-event-by-the-samples-that-bound",
        "audit/table.py",
        "hits = event.hits(_sample_pair(mechanism, pair, n_to_bound, rng))",
        "pilot = _sample_pair(mechanism, pair, n_to_bound, rng)\n"
        "    hits = _choose(pilot, n_to_bound, n_to_bound, delta, confidence).hits(pilot)",
        ("test_audit_table.py::test_a_bound_is_wrong_as_seldom_as_it_says",),
    ),
    Fault(
        "table-audit-claims-for-two-ballots",
        "audit/table.py",
        "cost = mechanism.cost(n_changed)",
        "cost = mechanism.cost(2)",
        ("test_audit_table.py::test_most_of_the_loss_of_laplace_noise_is_found",),
    ),
    Fault(
        "table-audit-looks-at-one-copy",
        "audit/attacks.py",
        "rates = rates.reshape(n_copies, len(first), -1).mean(axis=0)",
        "rates = rates.reshape(n_copies, len(first), -1)[0]",
        ("test_audit_table.py::test_rates_of_several_copies_are_averaged",),
    ),
    Fault(
        "table-audit-of-a-changed-label-in-one-step",
        "audit/estimator.py",
        "if adjacency in (Adjacency.ADD_OR_REMOVE_RECORD_ALONE, ",
        "if adjacency in (",
        (
            "test_audit_table.py::test_a_changed_label_is_two_steps_where_records_are_added_or_removed",
        ),
    ),
    Fault(
        "table-two-ballots-of-each-record",
        "neighbors/electorate.py",
        "return shares * GRID",
        "return 2 * shares * GRID",
        ("test_audit_table.py::test_of_honest_ballots_half_of_the_loss_is_found",),
    ),
    Fault(
        "table-half-the-noise-by-the-audit",
        "aggregators/table.py",
        "return DiscreteLaplace(GRID / self._drawn_size)",
        "return DiscreteLaplace(2 * GRID / self._drawn_size)",
        ("test_audit_table.py::test_of_honest_ballots_half_of_the_loss_is_found",),
    ),
    Fault(
        "table-transformer-that-keeps-private-rows",
        "neighbors/transform.py",
        "transformed(fresh(), own_rows(X, rows, _safe_indexing))",
        "transformed(fitted, own_rows(X, rows, _safe_indexing))",
        (
            "test_neighbors.py::test_a_record_that_upsets_the_transformer_moves_its_own_ballots_alone",
        ),
    ),
    Fault(
        "table-transformer-without-isolation",
        "neighbors/transform.py",
        "        with isolated(0):\n            found, failed",
        "        with Quiet():\n            found, failed",
        ("test_noninterference.py::test_tables_whatever_the_transformer_does_with_private_rows",),
    ),
    Fault(
        "logs-that-are-enabled-again",
        "isolation/silence.py",
        "    logging.Logger.callHandlers = _forget  # type: ignore[method-assign]\n",
        "",
        ("test_isolation.py::test_a_teacher_is_silent_whatever_it_sets",),
    ),
    Fault(
        "logs-dropped-for-good",
        "isolation/silence.py",
        "        logging.Logger.callHandlers = handled  # type: ignore[method-assign]\n",
        "",
        ("test_isolation.py::test_a_teacher_is_silent_whatever_it_sets",),
    ),
    Fault(
        "table-labels-of-the-first-public-rows-for-others",
        "classifier/estimator.py",
        "            released.add_rates(*released.table.read(X_public))\n",
        "            pass\n",
        (
            "test_released_table.py::test_labels_follow_rows_in_another_order",
            "test_released_table.py::test_other_public_rows_cost_nothing",
        ),
    ),
    Fault(
        "table-that-outlives-its-fit",
        "classifier/estimator.py",
        '    "n_teachers_",\n    "table_",\n',
        '    "n_teachers_",\n',
        ("test_released_table.py::test_a_fit_with_teachers_forgets_the_table",),
    ),
    Fault(
        "table-without-its-noise",
        "classifier/table.py",
        "table, rates, labels = votes.electorate.read(noisy, noise_std=noise_std)\n",
        "table, rates, labels = votes.electorate.read(noisy, noise_std=noise_std)\n"
        "    table = table._replace(counts=votes.counts)\n",
        ("test_released_table.py::test_the_table_says_of_public_rows_what_was_released",),
    ),
    Fault(
        "table-cells-by-a-seed-of-their-own",
        "neighbors/electorate.py",
        "        if seed is not None:\n            return seed_number(seed)\n",
        "",
        ("test_released_table.py::test_a_seed_makes_cells_too",),
    ),
    Fault(
        "table-that-holds-a-shared-generator",
        "neighbors/transform.py",
        "return own_generators(fitted.fit(X_public, None))",
        "return fitted.fit(X_public, None)",
        ("test_released_table.py::test_a_table_holds_no_global_generator",),
    ),
    Fault(
        "table-of-a-dtype-that-holds-notes",
        "aggregators/rehearsal.py",
        "    numbers[:] = noisy\n    return numbers\n",
        "    numbers[:] = noisy\n    return noisy\n",
        (
            "test_released_table.py::"
            "test_what_a_mechanism_keeps_of_a_table_is_not_in_the_classifier[0.4]",
        ),
    ),
    Fault(
        "table-of-digits-that-tell",
        "aggregators/table.py",
        "return np.round((table + self._continuous(rng, table.shape)) / GRID) * GRID",
        "return table + self._continuous(rng, table.shape)",
        ("test_released_table.py::test_continuous_noise_has_no_digits_that_tell",),
    ),
    Fault(
        "public-rows-with-what-they-were-cut-from",
        "classifier/checks.py",
        'return own_index(indexable_rows(X_public, "X_public"))',
        'return indexable_rows(X_public, "X_public")',
        ("test_released_table.py::test_public_rows_leave_what_they_were_cut_from_behind",),
    ),
    Fault(
        "rows-in-another-order-pass-for-the-same",
        "classifier/asked.py",
        'hashlib.sha256(b"\\0".join(bytes(part) for part in parts))',
        'hashlib.sha256(b"\\0".join(sorted(bytes(part) for part in parts)))',
        ("test_released_table.py::test_rows_are_known_again_whatever_holds_them",),
    ),
    Fault(
        "table-columns-in-other-units-as-they-are",
        "neighbors/columns.py",
        "if _units_differ(_flat(X)):",
        "if False:",
        ("test_neighbors.py::test_columns_in_other_units_count_alike",),
    ),
    Fault(
        "rates-never-sharpened",
        "neighbors/rates.py",
        "return POWERS[int(np.argmax(gain))]",
        "return POWERS[0]",
        ("test_rates.py::test_rates_of_one_class_a_cell_are_sharpened",),
    ),
    Fault(
        "rates-scored-by-the-noise-they-are-made-of",
        "neighbors/rates.py",
        "hidden = noisy - noise / _ADDED_NOISE",
        "hidden = noisy",
        ("test_rates.py::test_rates_that_are_as_they_seem_are_left",),
    ),
    Fault(
        "rates-labels-of-the-least-sure-rows",
        "classifier/student.py",
        "np.argsort(-rates[free, code]",
        "np.argsort(rates[free, code]",
        ("test_neighbors.py::test_students_that_learn_from_unlabelled_rows_get_the_surest_labels",),
    ),
    Fault(
        "rates-dealt-to-students-of-unlabelled-rows",
        "classifier/student.py",
        "targets = sure_labels(released.soft_labels)",
        "pass",
        ("test_neighbors.py::test_a_student_that_takes_unlabelled_rows_gets_all_rows",),
    ),
    Fault(
        "landmarks-of-rows-that-do-not-count",
        "neighbors/landmarks.py",
        "self._middle = np.median(distinct, axis=0)",
        "self._middle = np.median(X, axis=0)",
        ("test_rates.py::test_weights_are_as_good_as_repeats",),
    ),
    Fault(
        "landmarks-of-rates-that-are-too-even",
        "neighbors/landmarks.py",
        "self._power = POWERS[int(np.argmax(likelihoods))]",
        "self._power = POWERS[0]",
        ("test_rates.py::test_probabilities_of_many_classes_are_likely",),
    ),
    Fault(
        "landmarks-in-units-of-their-own",
        "neighbors/landmarks.py",
        "(X - self._middle) / self._spread",
        "(X - self._middle)",
        ("test_rates.py::test_a_unit_that_all_columns_share_makes_no_difference",),
    ),
    Fault(
        "table-rows-on-borders-beside-others",
        "neighbors/cells.py",
        "again = rows[open_rows] if alone is None else alone(open_rows)",
        "again = rows[open_rows]",
        ("test_neighbors.py::test_rows_near_the_border_of_cells_are_transformed_by_themselves",),
    ),
    Fault(
        "table-borders-without-what-is-rounded",
        "neighbors/electorate.py",
        "rounding=self._rounding,",
        "rounding=0.0,",
        ("test_neighbors.py::test_rows_near_the_border_of_cells_are_transformed_by_themselves",),
    ),
    Fault(
        "rates-in-units-of-the-farthest-cell",
        "neighbors/rates.py",
        "unit = max(np.median(squared), 1e-300)",
        "unit = max(squared.mean(), 1e-300)",
        ("test_neighbors.py::test_one_public_row_far_from_all_does_no_harm",),
    ),
    # --- records in blocks ------------------------------------------------------------------------
    Fault(
        "blocks-last-records-left-out",
        "neighbors/blocks.py",
        "while start < n_records:",
        "while start + size <= n_records:",
        ("test_blocks.py::test_each_record_is_read_once_and_few_at_a_time",),
    ),
    Fault(
        "blocks-record-in-two-of-them",
        "neighbors/blocks.py",
        "        start = stop\n",
        "        start = max(stop - 1, start + 1)\n",
        ("test_blocks.py::test_the_table_does_not_depend_on_the_blocks",),
    ),
    Fault(
        "blocks-group-in-two-of-them",
        "neighbors/blocks.py",
        'stop = int(np.searchsorted(groups, groups[stop - 1], side="right"))',
        "pass",
        ("test_blocks.py::test_the_table_does_not_depend_on_the_blocks",),
    ),
    Fault(
        "blocks-groups-of-one-entry-mixed",
        "neighbors/ballots.py",
        "np.unique(group * n_entries + entry,",
        "np.unique(group + entry,",
        ("test_neighbors.py::test_a_group_casts_one_ballot_in_all",),
    ),
    Fault(
        "blocks-positions-of-all-rows",
        "neighbors/blocks.py",
        "X = X.reset_index(drop=True)  #",
        "pass  #",
        ("test_blocks.py::test_positions_start_from_0_in_each_block",),
    ),
    Fault(
        "blocks-kept-whatever-the-rows",
        "neighbors/blocks.py",
        "(counting.fingerprint, digest(*block))",
        "(counting.fingerprint, digest(*block[1:]))",
        ("test_blocks.py::test_what_changed_is_counted_anew",),
    ),
    Fault(
        "blocks-kept-whatever-the-groups",
        "neighbors/blocks.py",
        "counting.fingerprint, digest(*block))",
        "counting.fingerprint, digest(*block[:3]))",
        ("test_blocks.py::test_what_changed_is_counted_anew",),
    ),
    Fault(
        "blocks-kept-for-other-cells",
        "neighbors/electorate.py",
        "digest(self._fingerprint, self._centers, self.n_neighbors, n_classes)",
        "digest(self._fingerprint, n_classes)",
        ("test_blocks.py::test_what_changed_is_counted_anew",),
    ),
    Fault(
        "blocks-kept-for-other-code",
        "neighbors/electorate.py",
        "digest(transformer, code_digest(transformer), ",
        "digest(transformer, ",
        ("test_blocks.py::test_code_that_changed_is_run_anew",),
    ),
    Fault(
        "blocks-cells-of-a-fresh-seed",
        "neighbors/electorate.py",
        "        if self._memory.location is None:\n            return fresh_seed()\n",
        "        if True:\n            return fresh_seed()\n",
        ("test_blocks.py::test_without_a_seed_cells_stay_and_noise_is_fresh",),
    ),
    Fault(
        "blocks-errors-raised-with-their-text",
        "neighbors/blocks.py",
        "result, failed = attempt(partial(_recalled, *task))",
        "result, failed = _recalled(*task), None",
        ("test_blocks.py::test_after_a_failure_no_more_blocks_are_sent",),
    ),
    Fault(
        "blocks-sent-after-a-failure",
        "neighbors/blocks.py",
        "lambda _: sums.problem is None",
        "lambda _: True",
        ("test_blocks.py::test_after_a_failure_no_more_blocks_are_sent",),
    ),
    Fault(
        "blocks-tell-a-private-number",
        "neighbors/electorate.py",
        "told = on_done if self._tells_blocks else None",
        "told = on_done",
        ("test_blocks.py::test_progress_says_nothing_of_a_private_number",),
    ),
    Fault(
        "blocks-settings-of-the-worker",
        "neighbors/blocks.py",
        "with config_context(**counting.config):",
        "with config_context():",
        ("test_blocks.py::test_workers_use_the_configuration_of_the_caller",),
    ),
    Fault(
        "blocks-near-ties-left-to-rounding",
        "neighbors/cells.py",
        "is_open = rough.min(axis=1) <= last + slack",
        "is_open = rough.min(axis=1) < last",
        ("test_neighbors.py::test_near_ties_go_to_the_lowest_cell",),
    ),
    # --- synthetic rows ---------------------------------------------------------------------------
    Fault(
        "synthesis-cost-of-one-histogram",
        "synthesis/marginal.py",
        'check_count("n_moved", n_moved) * self.n_tables',
        'check_count("n_moved", n_moved)',
        ("test_synthesis.py::test_the_cost_is_the_mechanisms_for_all_histograms",),
    ),
    Fault(
        "synthesis-replaced-records-at-half-the-price",
        "synthesis/marginal.py",
        'check_count("n_moved", n_moved) * self.n_tables',
        'check_count("n_moved", 1) * self.n_tables',
        ("test_synthesis.py::test_the_cost_is_the_mechanisms_for_all_histograms",),
    ),
    Fault(
        "synthesis-histogram-of-labels-for-free",
        "synthesis/marginal.py",
        "return len(self.schema_.columns) + bool(self.given_label)",
        "return len(self.schema_.columns)",
        ("test_synthesis.py::test_a_record_moves_no_more_than_is_paid_for",),
    ),
    Fault(
        "synthesis-without-noise",
        "synthesis/marginal.py",
        "checked_noisy(mechanism, counts * GRID, noise)",
        "counts * GRID",
        ("test_synthesis.py::test_private_rows_reach_nothing_but_the_counts",),
    ),
    Fault(
        "synthesis-tells-of-counts-without-noise",
        "synthesis/marginal.py",
        "        return self._released(checked_noisy(mechanism, counts * GRID, noise), "
        "noise_std, rng)\n",
        "        noisy = checked_noisy(mechanism, counts * GRID, noise)\n"
        "        rows = self._released(noisy, noise_std, rng)\n"
        "        self._released(counts * GRID, noise_std, np.random.default_rng(0))\n"
        "        return rows\n",
        ("bad_input/test_synthesis.py::test_what_is_told_is_a_function_of_the_noisy_table",),
    ),
    Fault(
        "synthesis-noise-of-the-generator-of-rows",
        "synthesis/marginal.py",
        "counts * GRID, noise)",
        "counts * GRID, rng)",
        ("test_synthesis.py::test_the_noise_is_the_mechanisms_own_and_all_of_it",),
    ),
    Fault(
        "synthesis-groups-by-their-records",
        "synthesis/marginal.py",
        '"groups": groups}',
        '"groups": None}',
        ("test_synthesis.py::test_a_group_moves_no_more_than_a_record",),
    ),
    Fault(
        "synthesis-weight-that-is-no-number",
        "synthesis/marginal.py",
        " or not np.isfinite(weight).all()",
        "",
        ("test_synthesis.py::test_records_that_would_be_counted_in_wrong_places_are_refused",),
    ),
    Fault(
        "synthesis-code-below-zero",
        "synthesis/marginal.py",
        "((codes < 0) | (codes >= n_classes)).any()",
        "(codes >= n_classes).any()",
        ("test_synthesis.py::test_records_that_would_be_counted_in_wrong_places_are_refused",),
    ),
    Fault(
        "synthesis-labels-looked-at",
        "synthesis/marginal.py",
        "                codes = np.zeros_like(codes)\n                n_classes = 1\n",
        "                pass\n",
        ("test_synthesis.py::test_the_histograms_hold_what_they_say",),
    ),
    Fault(
        "synthesis-errors-told",
        "synthesis/marginal.py",
        "counts, failed = attempt(partial(self._counts, X, codes, options))",
        "counts, failed = self._counts(X, codes, options), None",
        ("test_synthesis.py::test_failures_on_private_values_are_worded_by_the_library",),
    ),
    Fault(
        "synthesis-bounds-read-in-silence",
        "synthesis/schema.py",
        "            self._read_bounds.append(name)\n",
        "",
        ("test_synthesis.py::test_what_the_schema_does_not_say_is_read_and_warned_of",),
    ),
    Fault(
        "synthesis-missing-read-in-silence",
        "synthesis/schema.py",
        "        self._read_missing.append(name)\n",
        "",
        ("test_synthesis.py::test_what_the_schema_does_not_say_is_read_and_warned_of",),
    ),
    Fault(
        "synthesis-other-columns-taken",
        "synthesis/schema.py",
        "if X.shape[1] != len(self.columns) or self.difference(X) is not None:",
        "if X.shape[1] != len(self.columns):",
        ("test_synthesis.py::test_another_table_is_refused",),
    ),
    Fault(
        "synthesis-odd-value-is-an-error",
        "synthesis/columns.py",
        "except Exception:  # what cannot be looked up, such as a list, is no category",
        "except KeyError:",
        ("test_synthesis.py::test_one_odd_value_reaches_nothing_but_the_counts",),
    ),
    Fault(
        "synthesis-missing-value-in-two-bins",
        "synthesis/columns.py",
        "return np.where(missing, self.n_values if self.may_be_missing else -1, found)",
        "return found",
        ("test_synthesis.py::test_the_histograms_hold_what_they_say",),
    ),
    Fault(
        "synthesis-gaussian-after-pure-in-part",
        "rdp/conversion.py",
        "return float(above + expit(-pure) * _gdp_delta_of_any(epsilon + pure, mu))",
        "return float(above)",
        ("test_rdp.py::test_a_pure_step_and_gaussian_noise_cost_the_least_epsilon",),
    ),
    Fault(
        "synthesis-gaussian-after-pure-from-below",
        "rdp/conversion.py",
        "return -math.expm1(epsilon) + math.exp(epsilon) * _gdp_delta_of_any(-epsilon, mu)",
        "return _gdp_delta_of_any(-epsilon, mu)",
        ("test_rdp.py::test_a_pure_step_and_gaussian_noise_cost_the_least_epsilon",),
    ),
    # --- public rows that are drawn ---------------------------------------------------------------
    Fault(
        "drawn-one-unit-for-a-replaced-one",
        "classifier/synthesis.py",
        "n_moved = 1 if member in _ONE_MOVE else 2",
        "n_moved = 1",
        ("test_without_public_rows.py::test_pure_costs_add_up_to_epsilon",),
    ),
    Fault(
        "drawn-unknown-adjacency-taken",
        "classifier/synthesis.py",
        "        if member is None:\n",
        "        if False:\n",
        ("test_without_public_rows.py::test_an_adjacency_of_which_nothing_is_known_is_refused",),
    ),
    Fault(
        "drawn-groups-by-their-records",
        "classifier/synthesis.py",
        '    units = spelled_identifiers(private.groups, "groups")\n',
        "    return None\n",
        ("test_without_public_rows.py::test_all_rows_of_a_unit_count_once",),
    ),
    Fault(
        "drawn-identifiers-not-looked-at",
        "classifier/synthesis.py",
        "if adjacency == Adjacency.ADD_OR_REMOVE_RECORD and has_index:",
        "if False:",
        ("test_without_public_rows.py::test_all_rows_of_a_unit_count_once",),
    ),
    Fault(
        "drawn-noise-of-the-source-of-rows",
        "classifier/synthesis.py",
        '"noise": np.random.default_rng(noise)',
        '"noise": np.random.default_rng(seed)',
        ("test_without_public_rows.py::test_the_noise_on_rows_has_a_source_of_its_own",),
    ),
    Fault(
        "drawn-errors-told",
        "classifier/synthesis.py",
        "rows, failed = attempt(lambda: _bare(draw()))",
        "rows = _bare(draw())",
        (
            "test_without_public_rows.py::test_what_a_synthesizer_of_ones_own_says_of_rows_is_withheld",
        ),
    ),
    Fault(
        "drawn-cost-that-is-no-number",
        "classifier/synthesis.py",
        " or not _are_costs(cost)",
        "",
        ("test_without_public_rows.py::test_what_is_no_cost_is_refused",),
    ),
    Fault(
        "drawn-rows-before-they-are-paid-for",
        "classifier/estimator.py",
        "                task = self._pay_for_rows(task, plan, paid)\n"
        "                task = self._draw_public_rows(task, paid, progress)\n",
        "                task = self._draw_public_rows(task, paid, progress)\n"
        "                task = self._pay_for_rows(task, plan, paid)\n",
        (
            "test_without_public_rows.py::test_what_a_synthesizer_of_ones_own_says_of_rows_is_withheld",
        ),
    ),
    Fault(
        "drawn-rows-of-a-fit-not-paid-for",
        "classifier/estimator.py",
        "            self._pay(spent, cost)\n",
        "            pass\n",
        ("test_without_public_rows.py::test_rows_and_labels_are_two_entries_of_a_ledger",),
    ),
    Fault(
        "drawn-rows-of-a-poll-not-paid-for",
        "classifier/estimator.py",
        "task = self._pay_for_rows(task, plan, paid, are_alone=True)",
        "pass",
        ("test_without_public_rows.py::test_polled_rows_are_paid_for_once",),
    ),
    Fault(
        "drawn-rows-for-free",
        "classifier/estimator.py",
        "return no_cost if self.synthesis is None else self.synthesis.without_data().cost",
        "return no_cost",
        ("test_without_public_rows.py::test_pure_costs_add_up_to_epsilon",),
    ),
    Fault(
        "drawn-noise-called-exact",
        "classifier/estimator.py",
        "is_exact = _is_exact(plan) and (synthesis is None or synthesis.synthesizer.is_exact)",
        "is_exact = _is_exact(plan)",
        ("test_without_public_rows.py::test_continuous_noise_is_not_called_exact",),
    ),
    Fault(
        "drawn-not-in-the-cost-of-queries",
        "accountant/plan.py",
        "return self.before.plus(self.cost_of_queries())",
        "return self.cost_of_queries()",
        ("test_without_public_rows.py::test_rows_and_labels_cost_the_cap_together",),
    ),
    Fault(
        "drawn-not-in-the-number-of-queries",
        "accountant/plan.py",
        "        return stages.before.plus(cost_of(n)).epsilon(delta)[0]\n",
        "        return cost_of(n).epsilon(delta)[0]\n",
        (
            "test_without_public_rows.py::test_noise_that_is_set_pays_for_fewer_queries_after_the_rows",
        ),
    ),
    Fault(
        "drawn-not-off-the-limit-of-a-filter",
        "accountant/filter.py",
        "limit = (limit - before) * (1 - 1e-9)",
        "limit = limit * (1 - 1e-9)",
        ("test_without_public_rows.py::test_a_filter_leaves_room_for_the_rows",),
    ),
    Fault(
        "drawn-not-off-a-pure-private-test",
        "accountant/plan.py",
        "return epsilon - before.pure, delta - before.delta",
        "return epsilon, delta - before.delta",
        ("test_without_public_rows.py::test_a_private_test_leaves_room_for_the_rows",),
    ),
    Fault(
        "drawn-delta-spent-twice-by-a-private-test",
        "accountant/plan.py",
        "return epsilon - spent, delta / 2",
        "return epsilon - spent, delta",
        ("test_without_public_rows.py::test_a_private_test_leaves_room_for_the_rows",),
    ),
    Fault(
        "drawn-not-in-the-cost-of-a-table",
        "accountant/table.py",
        "cost = before(DEFAULT_ORDERS).plus(own)",
        "cost = own",
        ("test_without_public_rows.py::test_pure_costs_add_up_to_epsilon",),
    ),
    Fault(
        "drawn-pure-part-of-one-step",
        "rdp/cost.py",
        "pure_part=n_queries * self.pure_part",
        "pure_part=self.pure_part",
        ("test_without_public_rows.py::test_pure_steps_and_gaussian_noise_are_composed_exactly",),
    ),
    Fault(
        "drawn-pure-part-of-the-second-lost",
        "rdp/cost.py",
        "pure_part=self.pure_part + other.pure_part",
        "pure_part=self.pure_part",
        ("test_without_public_rows.py::test_pure_steps_and_gaussian_noise_are_composed_exactly",),
    ),
    Fault(
        "drawn-gaussian-part-of-the-second-lost",
        "rdp/cost.py",
        "mu_squared_part=self.mu_squared_part + other.mu_squared_part",
        "mu_squared_part=self.mu_squared_part",
        ("test_without_public_rows.py::test_pure_steps_and_gaussian_noise_are_composed_exactly",),
    ),
    Fault(
        "drawn-rows-of-a-search-for-free",
        "model_selection/base.py",
        "            before = task.cost_before\n",
        "",
        ("test_without_public_rows.py::test_a_search_pays_for_the_rows_beside_its_trials",),
    ),
    Fault(
        "drawn-noise-of-a-search-not-secure",
        "model_selection/base.py",
        "noise = self._generator(noise_seed)",
        "noise = np.random.default_rng(noise_seed)",
        ("test_without_public_rows.py::test_the_noise_on_rows_has_a_source_of_its_own",),
    ),
    Fault(
        "rows-of-groups-that-are-not-known",
        "classifier/synthesis.py",
        "    if private.groups is None:\n",
        "    if False:\n",
        ("test_rows_and_privacy.py::test_groups_are_protected_only_where_they_are_known",),
    ),
    Fault(
        "rows-of-group-ballots-by-record",
        "classifier/synthesis.py",
        'if ballots.unit == "record" and adjacency in _OF_RECORDS:',
        "if adjacency in _OF_RECORDS:",
        (
            "test_rows_and_privacy.py::test_a_group_is_protected_only_where_it_is_known_whatever_the_adjacency",
        ),
    ),
    Fault(
        "rows-of-a-teacher",
        "classifier/synthesis.py",
        'ballots.unit == "teacher" or adjacency == Adjacency.CHANGE_TEACHER',
        "False",
        ("test_rows_and_privacy.py::test_the_votes_of_a_teacher_say_nothing_of_records",),
    ),
    Fault(
        "rows-noise-that-inherits-a-cost",
        "classifier/synthesis.py",
        "            check_cost_is_own(noise)\n",
        "            pass\n",
        ("test_rows_and_privacy.py::test_noise_of_ones_own_is_refused_before_it_is_paid_for",),
    ),
    Fault(
        "rows-noise-not-tried",
        "classifier/synthesis.py",
        '            rehearse_table(noise, n_changed=n_moved, n_classes=sizes["n_classes"])\n',
        "            pass\n",
        ("test_rows_and_privacy.py::test_noise_of_ones_own_is_refused_before_it_is_paid_for",),
    ),
    Fault(
        "rows-noise-quotes-counts",
        "classifier/synthesis.py",
        "elif _noise_of_own(synthesizer) is not None:",
        "elif False:",
        ("test_rows_and_privacy.py::test_what_noise_of_ones_own_says_of_counts_is_withheld",),
    ),
    Fault(
        "rows-noise-keeps-counts",
        "synthesis/marginal.py",
        "mechanism = clone(self._mechanism())",
        "mechanism = self._mechanism()",
        ("test_rows_and_privacy.py::test_noise_of_ones_own_tells_its_size_before_it_sees_counts",),
    ),
    Fault(
        "rows-of-rounded-noise-with-delta-0",
        "accountant/table.py",
        "are_pure = mechanism.is_pure and is_pure_before",
        "are_pure = mechanism.is_pure",
        ("test_rows_and_privacy.py::test_delta_is_0_only_if_nothing_is_rounded",),
    ),
    Fault(
        "rows-and-noise-of-one-source-in-a-search",
        "classifier/seeds.py",
        ("    if random_state is None:\n        return _Unrelated()\n"),
        ("    if random_state is None:\n        return np.random.SeedSequence()\n"),
        ("test_rows_and_privacy.py::test_published_rows_tell_of_no_other_source_of_a_search",),
    ),
    Fault(
        "rows-of-another-ledger",
        "classifier/estimator.py",
        "has_rows = self.synthesis is not None and ledger in self.synthesis.ledgers",
        "has_rows = self.synthesis is not None and self.private is None",
        ("test_rows_and_privacy.py::test_a_ledger_misses_no_rows",),
    ),
    Fault(
        "rows-of-any-ledger",
        "ledger/ledger.py",
        "isinstance(other, PrivacyLedger) and self._file_id == other._file_id",
        "isinstance(other, PrivacyLedger)",
        ("test_rows_and_privacy.py::test_a_ledger_misses_no_rows",),
    ),
    Fault(
        "rows-paid-for-whose-labels-are-refused",
        "classifier/estimator.py",
        "if has_room(self.ledger, [cost, plan.own_cost]):",
        "if True:",
        ("test_rows_and_privacy.py::test_one_entry_where_a_ledger_has_no_room_for_two",),
    ),
    Fault(
        "rows-that-are-said-to-be-free",
        "classifier/synthesis.py",
        "        _say_paid(error, self._what or what)\n",
        "        pass\n",
        ("test_rows_and_privacy.py::test_errors_of_any_type_are_told_right",),
    ),
    Fault(
        "rows-beside-what-an-earlier-fit-left",
        "classifier/synthesis.py",
        "            delattr(self._estimator, name)\n",
        "            pass\n",
        ("test_rows_and_privacy.py::test_a_failure_after_the_drawing_loses_the_rows_alone",),
    ),
    Fault(
        "rows-paid-for-before-teachers-are-tried",
        "classifier/estimator.py",
        (
            "        if task.synthesis is not None and task.private is not None:\n"
            "            rehearse"
        ),
        ("        if False:\n            rehearse"),
        ("test_rows_and_privacy.py::test_teachers_are_tried_before_rows_are_paid_for",),
    ),
    Fault(
        "rows-polled-that-no-labels-can-follow",
        "classifier/estimator.py",
        ("            plan = self._plan(task)\n        elif"),
        ("            plan = None\n        elif"),
        ("test_rows_and_privacy.py::test_a_poll_that_no_labels_can_follow_is_refused",),
    ),
    Fault(
        "rows-that-one-value-decides",
        "synthesis/columns.py",
        "        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))\n",
        "        raise\n",
        (
            "test_synthesis.py::test_values_that_cannot_be_asked_whether_they_are_missing_have_no_bin",
        ),
    ),
    Fault(
        "rows-of-a-list-read-in-silence",
        "synthesis/schema.py",
        "reader.warn(has_dtype)",
        "reader.warn(True)",
        ("test_synthesis.py::test_a_list_of_rows_is_read_for_its_dtype",),
    ),
    Fault(
        "rows-of-a-list-read-in-silence-by-a-search",
        "model_selection/base.py",
        "declared_synthesizer(self.estimator, given, X_public)",
        "declared_synthesizer(self.estimator, X, X_public)",
        ("test_rows_and_privacy.py::test_a_list_of_rows_is_not_read_in_silence",),
    ),
    Fault(
        "rows-that-carry-notes",
        "classifier/synthesis.py",
        "rows, failed = attempt(lambda: _bare(draw()))",
        "rows, failed = attempt(draw)",
        ("test_rows_and_privacy.py::test_rows_of_ones_own_are_rows_and_nothing_else",),
    ),
    Fault(
        "rows-handed-out-without-a-copy",
        "classifier/synthesis.py",
        "records = copied_data(records)",
        "records = tuple(records)",
        ("test_rows_and_privacy.py::test_rows_of_ones_own_are_rows_and_nothing_else",),
    ),
    Fault(
        "rows-of-another-form",
        "classifier/synthesis.py",
        "            _check_rows(synthesizer, rows)\n",
        "            pass\n",
        ("test_rows_and_privacy.py::test_rows_of_ones_own_are_rows_and_nothing_else",),
    ),
    # --- what is said of a fit --------------------------------------------------------------------
    Fault(
        "statement-forgets-public-rows",
        "accountant/words.py",
        "The public rows are not protected, and may be part of the student.",
        "The public rows may be part of the student.",
        ("test_progress.py::test_the_summary_is_fit_for_a_contract",),
    ),
    Fault(
        "statement-forgets-what-is-not-covered",
        "accountant/words.py",
        "    if spent.not_covered:\n",
        "    if False:\n",
        ("test_progress.py::test_the_summary_is_fit_for_a_contract",),
    ),
    Fault(
        "statement-delta-a-probability-of-failure",
        "accountant/words.py",
        'f"plus {spent.delta!r} (delta)"',
        'f"except with probability {spent.delta!r}"',
        ("test_progress.py::test_the_summary_is_fit_for_a_contract",),
    ),
    Fault(
        "statement-delta-rounded",
        "accountant/words.py",
        'f"plus {spent.delta!r} (delta)"',
        'f"plus {spent.delta:.0e} (delta)"',
        ("test_export.py::test_a_card_rounds_up_and_shows_all_of_delta",),
    ),
    Fault(
        "statement-forgets-the-seed",
        "accountant/words.py",
        "        *_ABOUT_SEEDS[spent.generator],\n",
        "",
        ("test_progress.py::test_the_summary_is_fit_for_a_contract",),
    ),
    Fault(
        "statement-json-that-no-other-tool-reads",
        "accountant/spent.py",
        "return json.dumps(record, allow_nan=False)",
        "return json.dumps(self.to_dict())",
        ("test_export.py::test_json_has_no_infinite_number",),
    ),
    Fault(
        "statement-repr-rounds-to-nearest",
        "accountant/spent.py",
        "float(text_rounded_up(self.epsilon, n_decimals=6))",
        "round(self.epsilon, 6)",
        ("test_progress.py::test_what_is_printed_has_an_epsilon_that_people_can_read",),
    ),
    Fault(
        "statement-card-rounds-to-nearest",
        "accountant/spent.py",
        '"epsilon": text_rounded_up(self.epsilon),',
        '"epsilon": f"{self.epsilon:.3f}",',
        ("test_export.py::test_a_card_rounds_up_and_shows_all_of_delta",),
    ),
    Fault(
        "statement-card-not-escaped",
        "accountant/card.py",
        "{escape(words)}",
        "{words}",
        ("test_export.py::test_a_card_rounds_up_and_shows_all_of_delta",),
    ),
    Fault(
        "statement-number-below-the-one-given",
        "accountant/spent.py",
        "return math.nextafter(number, math.inf) if number < value else number",
        "return number",
        ("test_statements.py::test_json_of_numbers_of_other_types_is_never_below_them",),
    ),
    Fault(
        "statement-not-a-number",
        "accountant/spent.py",
        "if not number >= 0:",
        "if number < 0:",
        ("test_statements.py::test_numbers_that_no_mechanism_has_are_refused",),
    ),
    Fault(
        "statement-forecast-saved-as-spent",
        "accountant/spent.py",
        '_kind: ClassVar[str] = "forecast"',
        '_kind: ClassVar[str] = "spent"',
        ("test_export.py::test_the_statement_is_a_dict_and_json",),
    ),
    Fault(
        "statement-rows-alone-called-a-fit",
        "classifier/estimator.py",
        'dataclasses.replace(self._spent(plan, task), covers="rows")',
        "self._spent(plan, task)",
        ("test_statements.py::test_rows_that_were_paid_for_without_labels_are_named",),
    ),
    Fault(
        "statement-of-an-error-forgets-labels",
        "classifier/synthesis.py",
        "self._estimator.privacy_spent_ if has_begun else self.spent",
        "self.spent",
        ("test_statements.py::test_labels_that_were_paid_for_are_told_of_after_rows",),
    ),
    Fault(
        "statement-of-lost-rows-rounded-down",
        "classifier/synthesis.py",
        "epsilon = text_rounded_up(self.spent.epsilon)",
        "epsilon = int(self.spent.epsilon)",
        ("test_statements.py::test_rows_that_were_paid_for_without_labels_are_named",),
    ),
    Fault(
        "statement-forgets-classes-that-were-read",
        "classifier/estimator.py",
        "not_covered = () if self.classes is not None else (_READ_CLASSES,)",
        "not_covered = ()",
        ("test_statements.py::test_plans_and_exports_tell_it_too",),
    ),
    Fault(
        "statement-forgets-caveats",
        "classifier/estimator.py",
        "not_covered=(*task.not_covered, *caveats),",
        "not_covered=task.not_covered,",
        ("test_statements.py::test_what_was_read_from_private_data_is_told_first",),
    ),
    Fault(
        "statement-of-votes-forgets-what-was-read",
        "classifier/estimator.py",
        '{"synthesis": task.synthesis, "not_covered": task.not_covered}',
        '{"synthesis": task.synthesis}',
        ("test_statements.py::test_what_was_read_from_private_data_is_told_first",),
    ),
    Fault(
        "statement-of-a-search-forgets-its-plans",
        "model_selection/base.py",
        "        not_covered += tuple(part for plan in plans for part in plan.spent.not_covered)\n",
        "",
        ("test_statements.py::test_what_was_read_from_private_data_is_told_first",),
    ),
    Fault(
        "statement-forgets-other-rows-than-those-drawn",
        "classifier/asked.py",
        'return np.array_equal(X, other, equal_nan=X.dtype.kind == "f")',
        "return X.shape == other.shape",
        ("test_statements.py::test_other_rows_than_those_drawn_are_not_protected",),
    ),
    Fault(
        "statement-forgets-that-gaps-change-a-type",
        "synthesis/schema.py",
        'if holds_missing(dtype) or kind_of(dtype) in "iu":',
        "if holds_missing(dtype):",
        (
            "test_statements.py::"
            "test_the_type_of_whole_numbers_is_warned_of_whether_one_is_missing_or_not",
        ),
    ),
    Fault(
        "statement-seeded-search-in-silence",
        "model_selection/base.py",
        "        warn_if_seeded(spent)\n",
        "",
        (
            "test_seeds.py::"
            "test_a_seeded_search_warns_and_its_silent_trials_do_not_use_the_warning_up",
        ),
    ),
    # --- the student by itself --------------------------------------------------------------------
    Fault(
        "export-with-the-curators-view",
        "classifier/estimator.py",
        "        model.privacy_spent_ = self.privacy_spent_.to_dict()\n",
        "        model.privacy_spent_ = self.privacy_spent_.to_dict()\n"
        "        model.curator_ = self.curator_\n",
        ("test_export.py::test_an_export_holds_nothing_private",),
    ),
    Fault(
        "export-is-no-copy",
        "classifier/handover.py",
        "_in_sklearn(copy.deepcopy(estimator.student_))",
        "_in_sklearn(estimator.student_)",
        ("test_export.py::test_codes_that_are_labels_need_no_decoding",),
    ),
    Fault(
        "export-labels-by-place",
        "classifier/handover.py",
        "last.classes_ = labels[_codes_seen(last)]",
        "last.classes_ = labels[: len(last.classes_)]",
        ("test_export.py::test_a_label_that_was_never_released_has_no_column",),
    ),
    Fault(
        "export-not-compared",
        "classifier/handover.py",
        "if not np.array_equal(model.predict(X), labels):",
        "if False:",
        (
            "test_export.py::"
            "test_a_classifier_that_predicts_another_class_than_the_likeliest_keeps_its_labels",
        ),
    ),
    Fault(
        "export-needs-this-library",
        "classifier/handover.py",
        "    _check_modules(student)\n",
        "",
        ("test_export.py::test_what_scikit_learn_cannot_express_is_named",),
    ),
    Fault(
        "export-of-the-program",
        "classifier/handover.py",
        "    if unnamed:",
        "    if False:",
        ("test_export.py::test_a_class_of_the_program_that_runs_is_refused",),
    ),
    # --- the number of a fit ----------------------------------------------------------------------
    Fault(
        "count-fits-of-teachers",
        "isolation/block.py",
        "with turn(), Quiet(), uncounted(), contextlib",
        "with turn(), Quiet(), contextlib",
        ("test_statements.py::test_fits_of_teachers_do_not_count_as_their_number_is_private",),
    ),
    Fault(
        "count-trials",
        "model_selection/trials.py",
        "with Quiet(), uncounted():",
        "with Quiet():",
        ("test_count.py::test_a_private_search_is_one_fit_whatever_its_number_of_trials",),
    ),
    Fault(
        "count-after-private-checks",
        "classifier/estimator.py",
        (
            "        fit_number = next_fit_number()\n"
            "        task = self._check(X, y, X_public, groups, sample_weight)"
            "._replace(fit_number=fit_number)\n"
        ),
        (
            "        task = self._check(X, y, X_public, groups, sample_weight)"
            "._replace(fit_number=next_fit_number())\n"
        ),
        ("test_count.py::test_fits_that_failed_count_and_plans_do_not",),
    ),
    Fault(
        "count-not-told",
        "accountant/words.py",
        "if spent.fit_number == 1:",
        "if True:",
        ("test_progress.py::test_the_summary_is_fit_for_a_contract",),
    ),
    # --- private rows as public rows --------------------------------------------------------------
    Fault(
        "overlap-of-the-same-object-alone",
        "public.py",
        "elif _share_memory(X_public, X):",
        "elif False:",
        ("test_public.py::test_slices_of_the_private_rows_are_warned_of",),
    ),
    Fault(
        "overlap-told-by-values",
        "public.py",
        "    if X_public is X:\n",
        "    if X_public is X or np.array_equal(X_public, X):\n",
        ("test_public.py::test_a_warning_of_memory_goes_by_the_objects_and_not_by_their_values",),
    ),
    Fault(
        "overlap-told-by-entries",
        "public.py",
        '        yield getattr(X, "indptr", None)  # where there is no entry, data is empty\n',
        "",
        ("test_statements.py::test_a_warning_of_sparse_tables_does_not_depend_on_their_entries",),
    ),
    Fault(
        "overlap-saved",
        "public.py",
        '        raise TypeError("an overlap is private: it cannot be pickled or copied")\n',
        "        return Overlap, (self.public_rows, self.label_columns)\n",
        ("test_statements.py::test_what_overlap_finds_stays_with_the_curator",),
    ),
    Fault(
        "overlap-shown",
        "public.py",
        "{len(self.public_rows)} equal rows",
        "{self.public_rows} equal rows",
        ("test_statements.py::test_what_overlap_finds_stays_with_the_curator",),
    ),
    Fault(
        "overlap-by-the-place-of-columns",
        "public.py",
        "if public.columns.is_unique and set(names) == set(public.columns):",
        "if False:",
        ("test_statements.py::test_overlap_goes_by_the_names_of_columns",),
    ),
    # --- missing values of public rows ------------------------------------------------------------
    Fault(
        "missing-values-unseen-by-students",
        "classifier/missing.py",
        'in [*parts, ("student", student)]:',
        "in parts:",
        ("test_missing.py::test_teachers_and_students_that_take_no_missing_values_are_refused",),
    ),
    Fault(
        "missing-values-left-to-the-draw",
        "classifier/estimator.py",
        "        self._check_missing(task, are_drawn=task.synthesis is not None)\n",
        "",
        ("test_missing.py::test_teachers_and_students_that_take_no_missing_values_are_refused",),
    ),
    Fault(
        "missing-values-of-rows-to-be-drawn",
        "classifier/estimator.py",
        "        self._check_missing(task, are_drawn=task.synthesis is not None)\n",
        (
            "        if task.synthesis is None:\n"
            "            self._check_missing(task, are_drawn=False)\n"
        ),
        (
            "test_rows_and_privacy.py::"
            "test_students_are_tried_on_missing_values_before_rows_are_paid_for",
        ),
    ),
    Fault(
        "missing-values-of-rows-to-be-drawn-for-a-search",
        "model_selection/base.py",
        "        estimator._check_missing(estimator._check(**fit_data), are_drawn=True)\n",
        "        pass\n",
        (
            "test_rows_and_privacy.py::"
            "test_students_are_tried_on_missing_values_before_rows_are_paid_for",
        ),
    ),
]


def run(folder, tests):
    """Return None if the tests pass, else what failed first."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no"]
    command += ["-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=1800
        )
    except subprocess.TimeoutExpired:
        return "no end within half an hour"
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode > 2 or failed is None:  # not what tests say: they did not run
        raise RuntimeError(f"pytest {' '.join(tests)}\n{done.stdout}{done.stderr}")
    return failed[1].removeprefix("tests/")


def listed(faults):
    """Tests named by the faults, once each; a file holds those in it."""
    names = dict.fromkeys(name for fault in faults for name in fault.tests)
    return [
        f"tests/{name}" for name in names if "::" not in name or name.split("::")[0] not in names
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of names of faults; default: all")
    parser.add_argument("--listed-only", action="store_true", help="never run the whole suite")
    args = parser.parse_args()
    chosen = tuple(args.names) or ("",)
    faults = [fault for fault in FAULTS if fault.name.startswith(chosen)]
    for fault in FAULTS:
        found = (ROOT / "sklearn_pate" / fault.path).read_text().count(fault.old)
        if found != 1 or fault.old == fault.new:
            raise SystemExit(f"{fault.name}: its piece of {fault.path} occurs {found} times")
    survivors = []
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "copy"
        unwanted = shutil.ignore_patterns(
            ".git", ".venv", ".*_cache", ".hypothesis", "results", "_build"
        )
        shutil.copytree(ROOT, folder, ignore=unwanted)
        failed = run(folder, listed(faults))
        if failed is not None:
            raise SystemExit(f"without any fault, {failed} fails")
        for fault in faults:
            path = folder / "sklearn_pate" / fault.path
            text = path.read_text()
            path.write_text(text.replace(fault.old, fault.new))
            killer = run(folder, [f"tests/{name}" for name in fault.tests])
            if killer is None and not args.listed_only:
                killer = run(folder, ["tests"])
            shutil.copy2(ROOT / "sklearn_pate" / fault.path, path)
            if killer is None:
                survivors.append(fault.name)
            print(f"{fault.path:25} {fault.name:45} {killer or 'SURVIVED'}", flush=True)
    print(f"{len(faults)} faults, {len(survivors)} survived")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
