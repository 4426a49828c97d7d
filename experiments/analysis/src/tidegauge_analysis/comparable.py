"""What differs between two results directories."""

from tidegauge_analysis.archive import Archive

SIZES = ('quick', 'fixed', 'state')
"""Parts of a study that change what a run does. Where they differ, results are not comparable."""

OTHERS = ('seed', 'hard', 'easy', 'repeat', 'valid')


def differences_of(first: Archive, second: Archive) -> tuple[list[str], list[str]]:
    """Why two results are not comparable, and what else differs: versions, machine, repetitions."""
    obstacles = [f'{name}: {text}' for name in SIZES for text in _changed(first.study[name], second.study[name])]
    found = [f'{name}: {text}' for name in OTHERS for text in _changed(first.study[name], second.study[name])]
    found += [f'environment: {text}' for text in _changed(first.environment, second.environment)]
    versions = [
        {name: version for servers in archive.versions.values() for name, version in servers.items()}
        for archive in (first, second)
    ]
    found += [f'versions: {text}' for text in _changed(*versions)]
    for name, archive in (('A', first), ('B', second)):
        if archive.partial:
            found.append(f'{name} is partial: planned runs are missing')
    return obstacles, found


def _changed(one: object, two: object) -> list[str]:
    """List what differs between two values, key by key where they are objects."""
    if not isinstance(one, dict) or not isinstance(two, dict):
        return [] if one == two else [f'{_shown(one)} in A, {_shown(two)} in B']
    keys = [*one, *(key for key in two if key not in one)]
    return [
        f'{key} is {_shown(one.get(key))} in A and {_shown(two.get(key))} in B'
        for key in keys
        if one.get(key) != two.get(key)
    ]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ', '.join(map(str, value))
    return 'absent' if value is None else str(value)
