"""Which of a model's settings is best on the other data sets."""

#: Candidates are compared at one epsilon and seed.
EPSILON = 1.0
SEED = 0


def chosen(frame, model):
    """The setting for each table, by the mean accuracy on all others.

    Parameters
    ----------
    frame : DataFrame
        As `found` gives it, with candidates.
    model : Model

    Returns
    -------
    dict of str to str
        Tables that have all candidates, and their setting; empty if less than two have, or if
        there is nothing to choose.
    """
    if frame.empty or len(model.settings) == 1:
        return {}
    of_model = frame[(frame.model == model.name) & (frame.epsilon == EPSILON)]
    scores = of_model[of_model.seed == SEED].pivot_table("accuracy", "table", "setting")
    scores = scores.reindex(columns=list(model.settings)).dropna()
    if len(scores) < 2:
        return {}
    return {table: best_without(scores, table) for table in scores.index}


def best_without(scores, table):
    """The setting that has the best mean over all tables but one; the first of equals."""
    return scores.drop(index=table).mean().idxmax()
