"""What is published of votes: the base class."""

from abc import ABC, abstractmethod

import numpy as np


class VotesRelease(ABC):
    """Base class: what is published of votes, planned, gathered, and drawn once it is paid for.

    It holds nothing: `given` says all that a fit was given, and `plan` what it will ask and spend.
    `release_of` says which electorate has which.
    """

    #: Whether what is released are rates of the classes, at any row. What is gathered for them
    #: follows from the noise that will be drawn.
    gives_rates = False

    #: The most rows that a student is tried on.
    most_rehearsed = np.inf

    def refused(self, estimator):
        """Return the parameters that say nothing here, each with what it says."""
        return {}

    def check_votes(self, votes, electorate, *, is_given):
        """Refuse votes that an electorate would not have cast.

        Parameters
        ----------
        votes : Votes or array-like
            As given by the user.
        electorate : Electorate
            That of the parameters.
        is_given : bool
            Whether it was asked for.
        """
        return None

    def default_student(self, electorate, *, numbers):
        """Return the unfitted student, if the user gives none."""
        return electorate.default_student()

    @abstractmethod
    def mechanism(self, estimator):
        """Return what answers, as the parameters say; refuse what does not fit here."""

    @abstractmethod
    def plan(self, given):
        """Return what to ask and what it costs, a `Plan`, by public numbers."""

    def rehearse(self, given, plan):
        """Try what is the user's own on made-up votes."""
        return None

    @abstractmethod
    def forecast(self, given, plan, why):
        """Return who votes, and problems and obstacles, by public numbers."""

    def rows(self, given, plan):
        """Return the public rows that are voted on; here, all."""
        return np.arange(given.n_public)

    def of_rows(self, votes, rows):
        """Return votes on some of the rows that were voted on; here, what says something of all."""
        return votes

    @abstractmethod
    def gather(self, given, plan, rows, progress):
        """Return `Votes`: private, and free. It may take hours, and nothing leaves."""

    @abstractmethod
    def draw(self, given, plan, rows, votes, published, noise, progress):
        """Draw what is paid for, and add it to what is published, in place."""

    @abstractmethod
    def curator(self, published, votes, plan, delta):
        """Return the private view of what was released."""
