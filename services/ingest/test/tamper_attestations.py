"""Tampers with documents of `tidegauge attest` or with an export, at random, and requires that each change is found.

    python3 tamper_attestations.py FOLDER VERIFIER KEY COUNT SEED

FOLDER has the documents and `export.ndjson`. VERIFIER is the path of verify_attestation.py.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

Files = dict[str, bytes]
# Not a key of the chain.
OTHER_KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'


def load(path: str) -> Any:
    """The verifier as a module. Each signature is verified once, because most tampering leaves most of them."""
    spec = importlib.util.spec_from_file_location('verify_attestation', path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules['verify_attestation'] = module
    spec.loader.exec_module(module)
    module.is_signed = lru_cache(maxsize=100_000)(module.is_signed)
    return module


class Tampering:
    """One random change. Methods that cannot change anything return False."""

    def __init__(self, files: Files, rng: random.Random) -> None:
        self.files = dict(files)
        self.rng = rng
        self.documents = sorted(name for name in files if name.endswith('.jsonl'))
        self.lines = files['export.ndjson'].decode().split('\n')[:-2]

    def row(self) -> tuple[int, dict[str, Any]]:
        """A random reading of the export."""
        index = self.rng.randrange(len(self.lines))
        return index, json.loads(self.lines[index], parse_int=float)

    def write(self) -> bool:
        """Writes the export again, with a last line that is right."""
        last = json.dumps({'complete': True, 'rows': len(self.lines)})
        self.files['export.ndjson'] = ('\n'.join([*self.lines, last]) + '\n').encode()
        return True

    def change(self, field: str, values: list[Any]) -> bool:
        """Changes one field of one reading."""
        index, row = self.row()
        before = row.get(field)
        value = self.rng.choice(values)
        if value == before:
            return False
        if value is None:
            row.pop(field, None)
        else:
            row[field] = value
        self.lines[index] = json.dumps(row)
        return self.write()

    def value(self) -> bool:
        """Another value, also the other zero, a text, or the next double."""
        index, row = self.row()
        choices: list[Any] = [0.0, -0.0, '21.5', '', 1e300, self.rng.random()]
        if isinstance(row['value'], float):
            choices += [row['value'] * (1 + 2**-52) + 5e-324, -row['value'] or 1.0]
        value = self.rng.choice(choices)
        if repr(value) == repr(row['value']):
            return False
        row['value'] = value
        self.lines[index] = json.dumps(row)
        return self.write()

    def time(self) -> bool:
        """Another time of a reading, by a microsecond up to a day."""
        index, row = self.row()
        digit = self.rng.choice([9, 12, 15, 18, 25])
        text = row['time']
        row['time'] = text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :]
        self.lines[index] = json.dumps(row)
        return self.write()

    def number(self) -> bool:
        """Another number of a reading, or none."""
        return self.change('seq', [None, 0, 1, self.rng.randrange(10**6)])

    def boot(self) -> bool:
        """Another boot, or none."""
        return self.change('boot', [None, '', 'b', 'other'])

    def quality(self) -> bool:
        """Another quality."""
        return self.change('quality', ['ok', 'skewed', 'unsynced'])

    def device(self) -> bool:
        """Another device or metric of a reading."""
        return self.change(self.rng.choice(['device', 'metric']), ['site-1/a', 'site-9', 'humidity', 'zz'])

    def deletion(self) -> bool:
        """Some readings less."""
        start = self.rng.randrange(len(self.lines))
        del self.lines[start : start + self.rng.choice([1, 1, 2, 10, len(self.lines)])]
        return self.write()

    def insertion(self) -> bool:
        """A reading twice, or a new one."""
        index, row = self.row()
        if self.rng.random() < 0.5:
            row['time'] = row['time'][:20] + f'{self.rng.randrange(10**6):06d}Z'
        self.lines.insert(index + self.rng.choice([0, 1]), json.dumps(row))
        return self.write()

    def reorder(self) -> bool:
        """Two readings in another order."""
        a, b = (self.rng.randrange(len(self.lines)) for _ in range(2))
        self.lines[a], self.lines[b] = self.lines[b], self.lines[a]
        return a != b and self.write()

    def swap_days(self) -> bool:
        """The readings of two days, each with the date of the other one."""
        days = sorted({json.loads(line)['time'][:10] for line in self.lines})
        if len(days) < 2:
            return False
        one, other = self.rng.sample(days, 2)
        rows = [json.loads(line) for line in self.lines]
        for row in rows:
            day = row['time'][:10]
            row['time'] = {one: other, other: one}.get(day, day) + row['time'][10:]
        rows.sort(key=lambda row: (row['device'], row['metric'], row['time']))
        self.lines = [json.dumps(row) for row in rows]
        return self.write()

    def truncate_export(self) -> bool:
        """The end of the export is lost."""
        data = self.files['export.ndjson']
        # Without the last line only, all readings are there.
        end = data.rfind(b'\n', 0, -1) - 1
        self.files['export.ndjson'] = data[: self.rng.randrange(end)]
        return True

    def cut_chain(self) -> bool:
        """A document is lost. The last one is known by its hash."""
        del self.files[self.rng.choice(self.documents)]
        return True

    def swap_documents(self) -> bool:
        """A document gets the content of another one."""
        one, other = self.rng.sample(self.documents, 2)
        self.files[one] = self.files[other]
        return True

    def byte(self) -> bool:
        """Another byte in a document."""
        name = self.rng.choice(self.documents)
        data = bytearray(self.files[name])
        data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        self.files[name] = bytes(data)
        return True

    def line(self) -> bool:
        """A line of a document is lost, twice, or elsewhere."""
        name = self.rng.choice(self.documents)
        lines = self.files[name].splitlines(keepends=True)
        taken = lines.pop(self.rng.randrange(len(lines)))
        for _ in range(self.rng.choice([0, 1, 2])):
            lines.insert(self.rng.randrange(len(lines) + 1), taken)
        changed = b''.join(lines)
        if changed == self.files[name]:
            return False
        self.files[name] = changed
        return True

    def key(self) -> bool:
        """Another public key in a document."""
        name = self.rng.choice(self.documents)
        data = self.files[name]
        key = json.loads(data.splitlines()[0])['key'].encode()
        self.files[name] = data.replace(key, OTHER_KEY.encode())
        return True


KINDS: list[Callable[[Tampering], bool]] = [
    Tampering.value,
    Tampering.time,
    Tampering.number,
    Tampering.boot,
    Tampering.quality,
    Tampering.device,
    Tampering.deletion,
    Tampering.insertion,
    Tampering.reorder,
    Tampering.swap_days,
    Tampering.truncate_export,
    Tampering.cut_chain,
    Tampering.swap_documents,
    Tampering.byte,
    Tampering.line,
    Tampering.key,
]


def verify(verifier: Any, files: Files, key: str, newest: str) -> str | None:
    """The first difference; None if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        paths = [str(Path(folder, name)) for name in files if name.endswith('.jsonl')]
        try:
            chain = verifier.read_chain(paths, key)
            if newest not in [document.sha256 for document in chain]:
                return 'the newest document is missing'
            export = str(Path(folder, 'export.ndjson'))
            verifier.compare(chain, [export], verifier.Selection('', '9999', None))
        except verifier.Difference as difference:
            return str(difference)
    return None


def main() -> int:
    """Prints how often each kind was found. Returns 1 after a change that was not."""
    folder, path, key, count, seed = sys.argv[1:]
    verifier = load(path)
    files = {each.name: each.read_bytes() for each in Path(folder).iterdir() if each.suffix in ('.jsonl', '.ndjson')}
    newest = json.loads(files[max(name for name in files if name.endswith('.jsonl'))].splitlines()[-1])['sha256']
    problem = verify(verifier, files, key, newest)
    if problem is not None:
        print(f'without a change: {problem}')
        return 1
    found: dict[str, int] = {}
    for index in range(int(count)):
        kind = KINDS[index % len(KINDS)]
        rng = random.Random(f'{seed} {index}')
        while True:
            tampering = Tampering(files, rng)
            if kind(tampering):
                break
        if verify(verifier, tampering.files, key, newest) is None:
            print(f'not found: {kind.__name__}, seed {seed}, change {index}')
            return 1
        found[kind.__name__] = found.get(kind.__name__, 0) + 1
    print(json.dumps({'found': sum(found.values()), **found}))
    return 0


if __name__ == '__main__':
    sys.exit(main())
