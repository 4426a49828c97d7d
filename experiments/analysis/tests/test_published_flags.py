"""The published numbers of each study, in the report of results that have its factors."""

import csv
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from results import Truth, write_results
from tidegauge_analysis.document import to_json
from tidegauge_analysis.published import SHOWN
from tidegauge_analysis.render import render
from tidegauge_analysis.report import analyse

PUBLISHED = Path(__file__).parents[2] / 'studies' / 'published'
Json = dict[str, Any]


def rows_of(file: Path) -> list[Json]:
    with file.open(encoding='utf-8', newline='') as lines:
        return list(csv.DictReader(lines))


def test_every_study_has_its_published_numbers() -> None:
    assert [file.name for file in sorted(PUBLISHED.glob('*.csv'))] == [f's{number}.csv' for number in range(1, 6)]


@pytest.mark.parametrize('file', sorted(PUBLISHED.glob('*.csv')), ids=lambda file: file.stem)
def test_a_report_shows_all_sound_numbers_and_no_other(file: Path, tmp_path: Path) -> None:
    given = rows_of(file)
    sound = [row for row in given if row['flag'].split()[0] in SHOWN]
    others = [row for row in given if row not in sound]
    assert {row['flag'] for row in others} <= {'prose', 'lost', 'garbled'}
    # Damaged numbers get values that no page has by chance.
    marks = count(7_131_719_001)
    for row in others:
        row['value'] = str(next(marks))
        row['note'] = f'damaged {row["value"]}'
    truth = Truth(
        trials=3, operations=20, metrics=['read.mean'], energy=False, figures=['curves'],
        published=[{'file': f'published/{file.name}', 'source': f'the publication of {file.stem}'}],
    )  # fmt: skip
    results = write_results(tmp_path / 'results', truth)
    (results / 'published').mkdir()
    with (results / 'published' / file.name).open('w', encoding='utf-8', newline='') as copy:
        writer = csv.DictWriter(copy, given[0].keys())
        writer.writeheader()
        writer.writerows(given)
    analysis, ledger = analyse(results)
    plain = to_json(analysis)
    found = [(row['metric'], row['unit'], row['published']['value'], row['flag']) for row in plain['published']]
    assert found == [(row['metric'], row['unit'], float(row['value']), row['flag']) for row in sound]
    page = render(plain, tmp_path / 'report', ledger.document({})).read_text(encoding='utf-8')
    table = rows_of(tmp_path / 'report' / 'tables' / 'published.csv')
    assert len(table) == len(sound)
    # Each has a number of ours, or the reason why there is none.
    assert all(row['Here'] or row['Remark'] for row in table)
    assert 'damaged 7131719' not in page
    assert not any(row['value'] in page for row in others)
