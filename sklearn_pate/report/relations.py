"""Neighboring data sets and protected units in words."""

from ..rdp import NeighboringRelation
from ..rdp.contribution import OF_NAMED_GROUPS

#: The change that a guarantee covers, by relation and unit.
_CHANGES: dict[tuple[str, str], str] = {
    (NeighboringRelation.REPLACE_ONE, "record"): "replace one record",
    (
        NeighboringRelation.REPLACE_ONE,
        "group",
    ): "replace one group, or add, remove or change some of its records",
    (NeighboringRelation.REPLACE_ONE, "teacher"): "change the votes of one",
    (NeighboringRelation.ADD_OR_REMOVE_ONE, "record"): "add or remove one record",
    (
        NeighboringRelation.ADD_OR_REMOVE_ONE,
        "group",
    ): "add or remove one group, with all of its records",
    (
        NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE,
        "record",
    ): "add or remove one record, or change it under the same identifier",
    (
        NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE,
        "group",
    ): "add or remove one group, or change its records under the same identifier",
    (
        NeighboringRelation.CHANGE_ONE_NAMED,
        "group",
    ): "add, remove or change records of one named group, even all; the names are public",
    (
        NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY,
        "group",
    ): "add, remove or change records of one named group, which keeps at least one; no name joins",
}

#: Subject and verb of the guarantee, by unit.
_SUBJECTS = {
    "record": "Any one record (one row of the table) changes",
    "group": (
        "The records of any one group, as defined by `groups` (a person only if each group is a "
        "person), change"
    ),
    "teacher": "The votes of any one teacher change",
}

#: Limits of the protection, by unit.
_LIMITS = {
    "record": "Each row is protected by itself, not all rows of a person together.",
    "teacher": (
        "The guarantee is about votes, not about records: a person is covered only if no more than "
        "one teacher learned from their records."
    ),
}


def change_in_words(relation: NeighboringRelation | str, unit: str) -> str:
    """Return the change of the private data that a guarantee covers, in words.

    Parameters
    ----------
    relation : NeighboringRelation or str
        A member or value of `NeighboringRelation`; any other text is returned unchanged.
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.relations import change_in_words
    >>> change_in_words("add_or_remove_one", "record")
    'add or remove one record'
    """
    unit = "group" if relation in OF_NAMED_GROUPS else unit
    return _CHANGES.get((relation, unit), str(relation))


def unit_as_subject(relation: NeighboringRelation | str, unit: str) -> str:
    """Return the subject and the verb of a sentence about the effect of one unit.

    Parameters
    ----------
    relation : NeighboringRelation or str
        As in `PrivacySpent`.
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.relations import unit_as_subject
    >>> unit_as_subject("replace_one", "teacher")
    'The votes of any one teacher change'
    """
    if relation in OF_NAMED_GROUPS:
        return "The records of any one site or named group change"
    return _SUBJECTS.get(unit, f"Any one {unit} changes")


def limits_of_unit(unit: str) -> str:
    """Return a sentence on the limits of the protection of a unit, or an empty string.

    Parameters
    ----------
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.relations import limits_of_unit
    >>> limits_of_unit("record")
    'Each row is protected by itself, not all rows of a person together.'
    """
    return _LIMITS.get(unit, "")


def is_replaced_record(relation: NeighboringRelation | str, unit: str) -> bool:
    """Return whether the relation replaces one record, so that the number of rows is public.

    Parameters
    ----------
    relation : NeighboringRelation or str
        As in `PrivacySpent`.
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn_pate.report.relations import is_replaced_record
    >>> is_replaced_record("replace_one", "group")
    False
    """
    return relation == NeighboringRelation.REPLACE_ONE and unit == "record"
