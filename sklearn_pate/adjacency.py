"""Changes of the private data that a guarantee covers."""

from enum import StrEnum

__all__ = ["Adjacency"]


class Adjacency(StrEnum):
    """The change of the private data that a guarantee covers.

    Each member is the text that is published, and what the code needs to know of it is asked of
    the member. A partition of a user's own states an adjacency as plain text; nothing else is
    known of it.

    Examples
    --------
    >>> from sklearn_pate.adjacency import Adjacency
    >>> Adjacency.REPLACE_RECORD
    'replace one record'
    >>> Adjacency.REPLACE_RECORD.n_records_is_public
    True
    >>> Adjacency.find("add or remove one household") is None
    True
    """

    REPLACE_RECORD = "replace one record"
    ADD_OR_REMOVE_RECORD = "add or remove one record, or change it under the same identifier"
    ADD_OR_REMOVE_GROUP = "add or remove one group, or change its records under the same identifier"
    CHANGE_NAMED_GROUP = (
        "add, remove or change records of one named group, even all; the names are public"
    )
    CHANGE_NAMED_GROUP_NEVER_EMPTY = (
        "add, remove or change records of one named group, which keeps at least one; no name joins"
    )
    CHANGE_TEACHER = "change the votes of one"
    ADD_OR_REMOVE_RECORD_ALONE = "add or remove one record"
    REPLACE_GROUP = "replace one group, or add, remove or change some of its records"
    ADD_OR_REMOVE_GROUP_ALONE = "add or remove one group, with all of its records"

    __repr__ = str.__repr__

    @classmethod
    def find(cls, text):
        """Return the member of a published text, or None if it is a user's own."""
        return next((member for member in cls if member == text), None)

    @classmethod
    def public_count(cls, text, n_records):
        """Return the number of private records if a published text leaves it public, else None."""
        member = cls.find(text)
        return n_records if member is not None and member.n_records_is_public else None

    @property
    def n_records_is_public(self):
        """Whether no change adds or removes a record, so that anybody may know their number."""
        return self is Adjacency.REPLACE_RECORD
