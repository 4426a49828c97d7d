"""Compact letters: groups that share a letter are not shown to differ."""

from collections.abc import Collection, Sequence
from string import ascii_letters

Pair = frozenset[str]


def compact_letters(names: Sequence[str], different: Collection[Pair]) -> dict[str, str]:
    """Give each group its letters: two groups share one exactly if they are not shown to differ.

    Letters are the maximal sets of groups without a difference among them (Piepho 2004, Journal of Computational and
    Graphical Statistics 13), less those that the others make redundant.

    :param names: groups from the best to the worst; the best has the letter a
    :param different: the pairs that were shown to differ
    :raises ValueError: more than 52 letters are needed, a pair has an unknown name, or a name appears twice
    """
    rank = {name: index for index, name in enumerate(names)}
    if len(rank) != len(names):
        raise ValueError('the name of a group appears twice')
    unknown = set().union(*different) - set(names) if different else set()
    if unknown:
        raise ValueError(f'{min(unknown)} is not the name of a group')
    alike = {
        name: {other for other in names if other != name and frozenset((name, other)) not in different}
        for name in names
    }
    cliques = sorted(_maximal_cliques(alike), key=lambda clique: sorted(rank[name] for name in clique))
    needed = _without_redundant(cliques)
    if len(needed) > len(ascii_letters):
        raise ValueError(f'{len(needed)} letters are needed, and there are {len(ascii_letters)}')
    return {
        name: ''.join(letter for letter, clique in zip(ascii_letters, needed, strict=False) if name in clique)
        for name in names
    }


def _maximal_cliques(alike: dict[str, set[str]]) -> list[frozenset[str]]:
    """Bron and Kerbosch's algorithm with pivots (1973, Communications of the ACM 16)."""
    found: list[frozenset[str]] = []

    def extend(clique: set[str], candidates: set[str], excluded: set[str]) -> None:
        if not candidates and not excluded:
            found.append(frozenset(clique))
            return
        pivot = max(sorted(candidates | excluded), key=lambda name: len(alike[name] & candidates))
        for name in sorted(candidates - alike[pivot]):
            extend(clique | {name}, candidates & alike[name], excluded & alike[name])
            candidates = candidates - {name}
            excluded = excluded | {name}

    extend(set(), set(alike), set())
    return found


def _without_redundant(cliques: list[frozenset[str]]) -> list[frozenset[str]]:
    """Drop, from the last to the first, each set whose members and pairs the remaining sets cover."""
    kept = list(cliques)
    for clique in reversed(cliques):
        others = [other for other in kept if other is not clique]
        if all(any({one, two} <= other for other in others) for one in clique for two in clique):
            kept = others
    return kept
