"""Judging a study while it runs: when it is looked at, and how the looks share its error."""

from tidegauge_analysis.archive import Archive

SCHEDULE = (3, 4, 5, 6, 8, 10, 13, 16)
"""Complete blocks after which a study that runs until it is decided is judged. Each look has an equal share of the
error (Bonferroni), so that a verdict of an early look stays when no data is added."""


def looks_of(archive: Archive) -> int:
    """Looks that were made while the study ran."""
    return sum(entry['event'] == 'look' for entry in archive.journal)


def level_of_each(alpha: float, archive: Archive) -> float:
    """The level of each decision: a part of `alpha` if the study was looked at while it ran, else all of it."""
    return alpha / len(SCHEDULE) if looks_of(archive) else alpha
