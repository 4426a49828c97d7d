import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sample_analysis import HOSTILE, sample_analysis
from tidegauge_analysis import tables
from tidegauge_analysis.formulas import WORDS, words
from tidegauge_analysis.page import MOST_TABLE_ROWS
from tidegauge_analysis.recompute import FORMULAS
from tidegauge_analysis.render import MOST_COMPARISONS, render, stamp_of
from tidegauge_analysis.tables import Table

VOID = {'meta', 'br', 'img', 'link', 'input', 'hr'}
Json = dict[str, Any]


class Checked(HTMLParser):
    """Reads a page, and fails where an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ''
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f'an attribute of {tag} is given twice'
        self.elements.append((tag, given))
        if 'id' in given:
            self.ids.append(given['id'] or '')
        link = given.get('href') or given.get('xlink:href')
        if link:
            self.links.append(link)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {'script', 'style'}:
            self.text += data


@pytest.fixture(scope='module')
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('results') / 'report'
    analysis, numbers = sample_analysis()
    render(analysis, out, {'format': 1, 'sets': {'s1': ['n1', 'n2']}, 'numbers': numbers, 'files': analysis['files']})
    return out


@pytest.fixture(scope='module')
def page(report: Path) -> Checked:
    return Checked((report / 'report.html').read_text(encoding='utf-8'))


def test_ids_are_unique_and_every_link_resolves(report: Path, page: Checked) -> None:
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith('#'):
            assert link[1:] in page.ids, link
        elif link.startswith('../runs/'):
            assert link.endswith(('.csv.gz', '.json'))
        else:
            assert (report / link).is_file(), link


def test_the_page_loads_nothing_and_runs_nothing(page: Checked) -> None:
    policy = next(a['content'] for t, a in page.elements if a.get('http-equiv') == 'Content-Security-Policy')
    assert policy is not None
    assert "default-src 'none'" in policy
    for tag, attributes in page.elements:
        assert tag not in {'img', 'link', 'iframe', 'object', 'script'}
        assert 'src' not in attributes
        assert not [name for name in attributes if name.startswith('on')]


def test_the_units_of_a_table_are_found_once_for_each_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each reads the whole table: for each cell, a table of ten thousand rows would take hours.
    found: list[str] = []

    def unit_of(table: Table, at: int) -> str:
        found.append(f'{table.name} {at}')
        return ''

    monkeypatch.setattr(tables, '_unit_of', unit_of)
    analysis, numbers = sample_analysis()
    render(analysis, tmp_path, {'format': 1, 'sets': {}, 'numbers': numbers, 'files': {}})
    assert max(Counter(found).values()) <= 4


def test_a_page_has_a_part_of_large_results_and_the_files_have_all(tmp_path: Path) -> None:
    analysis, numbers = sample_analysis()
    analysis['study']['figures'] = ['curves']
    family, series = analysis['families'][0], analysis['series'][0]
    analysis['families'] = [{**family, 'id': f'many-{at}'} for at in range(MOST_COMPARISONS + 1)]
    analysis['series'] = [series] * (MOST_TABLE_ROWS + 1)
    unused = {'id': 'n999999', 'value': 1.0, 'unit': '', 'formula': 'mean', 'inputs': {}}
    entries = {'format': 1, 'sets': {}, 'numbers': [*numbers, unused], 'files': {}}
    page = Checked(render(analysis, tmp_path, entries).read_text(encoding='utf-8'))
    assert 'The page leaves out 1 comparison.' in page.text
    assert ('many-0' in page.ids, f'many-{MOST_COMPARISONS}' in page.ids) == (True, False)
    assert len(list((tmp_path / 'tables').glob(f'many-{MOST_COMPARISONS}*.csv'))) == 2
    assert f'{MOST_TABLE_ROWS} of {MOST_TABLE_ROWS + 1} rows.' in page.text
    assert len((tmp_path / 'tables' / 'series.csv').read_text(encoding='utf-8').splitlines()) == MOST_TABLE_ROWS + 2
    assert unused['id'] not in page.ids
    assert all(link[1:] in page.ids for link in page.links if link.startswith('#'))


def test_text_is_escaped(report: Path, page: Checked) -> None:
    text = (report / 'report.html').read_text(encoding='utf-8')
    assert HOSTILE not in text
    assert page.text.count(HOSTILE) >= 4


def test_each_number_links_to_its_formula(report: Path, page: Checked) -> None:
    analysis, _ = sample_analysis()
    name = analysis['families'][0]['groups'][0]['mean']['value']['id']
    text = (report / 'report.html').read_text(encoding='utf-8')
    assert f'<a class="n" href="#{name}">3,' in text
    assert name in page.ids
    value = analysis['families'][0]['groups'][0]['mean']['value']['value']
    assert repr(value) in text


def test_there_is_no_value_that_is_not_a_number(report: Path, page: Checked) -> None:
    files = [file for folder in ('figures', 'tables') for file in (report / folder).iterdir() if file.suffix != '.png']
    for text in (page.text, *(file.read_text(encoding='utf-8') for file in files)):
        assert not re.search(r'\b(nan|NaN|None|inf|Undefined)\b', text)


def test_every_figure_and_table_has_the_stamp(report: Path, page: Checked) -> None:
    figures = [a for t, a in page.elements if t == 'figure']
    tables = [a for t, a in page.elements if t == 'table' and 'id' in a]
    assert page.text.count('quick and partial results') == len(figures) + len(tables) + 1
    for file in (report / 'figures').glob('*.svg'):
        assert 'QUICK AND PARTIAL RESULTS' in file.read_text(encoding='utf-8')
    for file in (report / 'tables').glob('*.md'):
        assert 'quick and partial results' in file.read_text(encoding='utf-8')


def test_complete_results_have_no_stamp() -> None:
    analysis, _ = sample_analysis(quick=False, partial=False)
    assert stamp_of(analysis) == ('', '')


def test_the_same_analysis_gives_the_same_files(report: Path, tmp_path: Path) -> None:
    analysis, numbers = sample_analysis()
    entries = {'format': 1, 'sets': {'s1': ['n1', 'n2']}, 'numbers': numbers, 'files': analysis['files']}
    again = render(analysis, tmp_path, entries).parent
    for file in sorted(report.rglob('*')):
        if file.is_file():
            assert file.read_bytes() == (again / file.relative_to(report)).read_bytes(), file


def test_numbers_are_read_from_the_directory_or_shown_without_formulas(tmp_path: Path) -> None:
    analysis, numbers = _little()
    assert 'see analysis.json' in render(analysis, tmp_path / 'a').read_text(encoding='utf-8')
    (tmp_path / 'b').mkdir()
    entries = {'format': 1, 'sets': {}, 'numbers': numbers, 'files': {}}
    (tmp_path / 'b' / 'numbers.json').write_text(json.dumps(entries), encoding='utf-8')
    text = render(analysis, tmp_path / 'b').read_text(encoding='utf-8')
    assert 'arithmetic mean' in text
    assert 'see analysis.json' not in text


def test_only_the_named_figures_are_drawn(tmp_path: Path) -> None:
    analysis, _ = sample_analysis()
    analysis['study']['figures'] = ['curves']
    render(analysis, tmp_path)
    assert sorted(file.name for file in (tmp_path / 'figures').glob('*.svg')) == ['curves.svg', 'overview.svg']


def test_an_analysis_without_any_run_gives_a_report(tmp_path: Path) -> None:
    analysis, _ = _little()
    text = render(analysis, tmp_path).read_text(encoding='utf-8')
    assert 'Validity' in Checked(text).text


def test_question_answer_picture_and_limits_come_first(report: Path) -> None:
    text = (report / 'report.html').read_text(encoding='utf-8')
    order = ['class="question"', 'class="words"', 'id="fig-overview"', 'class="limits"', 'id="details"', '<nav']
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_more_ratios_than_the_first_screen_holds_have_a_picture_below(tmp_path: Path) -> None:
    analysis, _ = sample_analysis()
    analysis['claims'] = []
    analysis['study']['figures'] = ['curves']
    render(analysis, tmp_path)
    shown = {name: _described(tmp_path / 'figures' / f'{name}.svg') for name in ('overview', 'ratios')}
    assert {name: len(rows) for name, rows in shown.items()} == {'overview': 8, 'ratios': 30}
    # Pairs with the best group come first.
    assert all('hbase, raw' in row for row in shown['overview'])
    assert shown['ratios'][:8] == shown['overview']


def test_long_notes_are_folded(tmp_path: Path) -> None:
    analysis, _ = sample_analysis()
    analysis['study']['figures'] = ['curves']
    for notes, is_open in (['A note.'], True), (['A note. ' * 20] * 6, False):
        analysis['notes'] = notes
        found = Checked(render(analysis, tmp_path).read_text(encoding='utf-8'))
        folded = [attributes for tag, attributes in found.elements if tag == 'details']
        assert ('open' in folded[0]) == is_open


def _described(svg: Path) -> list[str]:
    """The rows in the description of a figure."""
    found = re.search(r'<desc [^>]*>(.*?)\.</desc>', svg.read_text(encoding='utf-8'), re.DOTALL)
    assert found is not None
    return found[1].split('; ')


def test_formulas_have_words() -> None:
    assert words('mean_low') == 'lower bound of the arithmetic mean'
    assert words('some_new_formula') == 'some new formula'
    assert [name for name in FORMULAS if name not in WORDS and words(name) == name.replace('_', ' ')] == []


def _little() -> tuple[Json, list[Json]]:
    """The analysis of a study whose runs are all missing."""
    analysis, numbers = sample_analysis()
    for part in (
        'run_rows', 'families', 'drivers', 'series', 'latencies', 'curves', 'resources', 'failures', 'rules',
        'validity', 'sensitivity', 'published', 'extremes', 'loads', 'load_groups', 'answer', 'summary',
    ):  # fmt: skip
        analysis[part] = []
    return analysis, numbers
