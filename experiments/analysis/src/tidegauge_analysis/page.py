"""Pages of reports: sections of text, figures and tables in one HTML file that needs nothing else."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tidegauge_analysis import formulas
from tidegauge_analysis.figures import Drawing
from tidegauge_analysis.present import Json, fill, show_entry
from tidegauge_analysis.tables import Table, cell_parts, title_with_unit

SHOWN_MEMBERS = 24
"""Members of a long list of inputs that the page shows; `numbers.json` has all of them."""

MOST_TABLE_ROWS = 500
"""Rows of a table that the page shows, unless other parts link to its rows. Its files have all of them."""


@dataclass(frozen=True)
class Block:
    """A part of a section: any of its fields, in the order of the fields."""

    title: str = ''
    anchor: str = ''
    text: list[str] = field(default_factory=list)
    """Paragraphs. `{n17}` is replaced by that number."""
    items: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    code: str = ''
    figures: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    """Beside the figures where there is space."""
    filed: list[Table] = field(default_factory=list)
    """Tables that are in files only."""
    folded: str = ''
    """Folds the items, the figures and the tables under this title."""


@dataclass(frozen=True)
class Section:
    """A section with an entry in the contents."""

    anchor: str
    title: str
    blocks: list[Block]


@dataclass
class Page:
    """A page with its summary, its sections and its list of numbers."""

    title: str
    kind: str
    """What the page is, above the title."""
    name: str
    stamp: str
    """Why the results must not be quoted; empty: they may be."""
    stamp_reason: str
    question: str
    answer: list[str]
    """At most two sentences. The first screen has them, with the question, the picture and the limits."""
    picture: Drawing | None
    limits: list[str]
    """How far the answer holds."""
    summary: list[str]
    """The results behind the answer."""
    facts: list[tuple[str, str]]
    notes: list[str]
    sections: list[Section]
    numbers: Json
    """`numbers.json`, or the same shape."""
    runs: list[Json] = field(default_factory=list)
    has_files: bool = True
    """Figures, tables and `numbers.json` are beside the page. Otherwise the page contains its numbers as JSON."""


def to_html(page: Page) -> str:
    """The page as one HTML file. All text is escaped, and no resource is loaded."""
    links = Links(page)
    environment = Environment(
        loader=PackageLoader('tidegauge_analysis'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        cell_parts=cell_parts,
        title_with_unit=title_with_unit,
        link=links.number,
        sentence=links.sentence,
        inputs=links.inputs,
        linked=links.linked,
        most_rows=MOST_TABLE_ROWS,
        shown_value=links.value,
        words=formulas.words,
        svg=lambda drawing: Markup(drawing.inline),  # noqa: S704 - our own SVG, whose text Matplotlib escapes
        css_text=lambda text: Markup(re.sub(r'[^A-Za-z0-9 .,:-]', '', text)),  # noqa: S704 - only safe characters
    )
    template = environment.get_template('page.html.j2')
    embedded = None if page.has_files else _embedded(page.numbers)
    html: str = template.render(page=page, embedded=embedded)
    return html


class Links:
    """Links from numbers to their formulas, and from formulas to their inputs."""

    def __init__(self, page: Page) -> None:
        self.entries: dict[str, Json] = {entry['id']: entry for entry in page.numbers['numbers']}
        self.sets: dict[str, list[str]] = page.numbers.get('sets', {})
        self.runs = {row['run'] for row in page.runs}
        self.used: set[str] = set()

    def number(self, text: str, name: str | None) -> Markup:
        """A number as a link to its formula."""
        if name is None or name not in self.entries:
            return Markup.escape(text)
        self.used.add(name)
        return Markup('<a class="n" href="#{}">{}</a>').format(name, text)

    def linked(self) -> tuple[list[Json], dict[str, list[str]]]:
        """The numbers and the lists to which the page links so far, and those to which their formulas link."""
        found: set[str] = set()
        waiting = list(self.used)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            shown = self.sets[name] if name in self.sets else self.entries[name]['inputs']
            waiting += [text for text in _texts(shown) if text in self.entries or text in self.sets]
        numbers = [entry for name, entry in self.entries.items() if name in found]
        return numbers, {name: members for name, members in self.sets.items() if name in found}

    def sentence(self, text: str) -> Markup:
        """A sentence with its numbers."""
        return Markup().join(
            part if isinstance(part, str) else self.number(show_entry(part), part['id'])
            for part in fill(text, self.entries)
        )

    def value(self, entry: Json) -> str:
        """The value of an entry in full precision; of a list, its first values."""
        value = entry['value']
        if isinstance(value, list):
            first = ', '.join('none' if v is None else f'{v:g}' for v in value[:6])
            return f'{first}, … ({len(value)} values)' if len(value) > 6 else first
        return 'none' if value is None else repr(value)

    def inputs(self, value: object) -> Markup:
        """The inputs of a formula. Names of numbers, lists and runs are links."""
        if isinstance(value, dict):
            return Markup('; ').join(
                Markup('{}: {}').format(name.replace('_', ' '), self.inputs(inner)) for name, inner in value.items()
            )
        if isinstance(value, list):
            shown = Markup(', ').join(self.inputs(inner) for inner in value[:SHOWN_MEMBERS])
            more = len(value) - SHOWN_MEMBERS
            return shown + (f', … ({more} more in numbers.json)' if more > 0 else '')
        text = json.dumps(value) if isinstance(value, bool | None) else str(value)
        if text in self.entries or text in self.sets:
            return Markup('<a href="#{0}">{0}</a>').format(text)
        if text in self.runs:
            return Markup('<a href="#run-{0}">{0}</a>').format(text)
        return Markup.escape(text)


def _texts(inputs: object) -> Iterator[str]:
    """The texts of inputs that the page shows."""
    if isinstance(inputs, dict):
        for inner in inputs.values():
            yield from _texts(inner)
    elif isinstance(inputs, list):
        for inner in inputs[:SHOWN_MEMBERS]:
            yield from _texts(inner)
    elif isinstance(inputs, str):
        yield inputs


def numbers_of(analysis_numbers: Sequence[Json]) -> Json:
    """The shape of `numbers.json` for numbers without known formulas."""
    seen: dict[str, Json] = {}
    for number in analysis_numbers:
        value: Any = number['value'] if 'value' in number else number['values']
        seen.setdefault(
            number['id'],
            {'id': number['id'], 'value': value, 'unit': number['unit'], 'formula': 'see analysis.json', 'inputs': {}},
        )
    return {'format': 1, 'sets': {}, 'numbers': list(seen.values()), 'files': {}}


def _embedded(numbers: Json) -> Markup:
    text = json.dumps(numbers, ensure_ascii=False, separators=(',', ':'), allow_nan=False)
    # Within a script element, HTML ends at the first `</script`, whatever the type of the element.
    return Markup(text.replace('&', '\\u0026').replace('<', '\\u003c').replace('>', '\\u003e'))  # noqa: S704
