"""Tables of a report: as HTML, CSV, Markdown and LaTeX from one description."""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegauge_analysis.present import decimals_of, is_estimate, is_number, show, show_estimate, show_p

Cell = str | dict[str, Any] | None
"""Text, a `Number` or an `Estimate` of the document, or nothing."""

COUNTED = {'operations', 'records', 'runs', 'trials'}
"""Units that the title of a column names in words."""

_LATEX = {
    '\\': r'\textbackslash{}',
    '&': r'\&',
    '%': r'\%',
    '$': r'\$',
    '#': r'\#',
    '_': r'\_',
    '{': r'\{',
    '}': r'\}',
    '~': r'\textasciitilde{}',
    '^': r'\textasciicircum{}',
    '<': r'\textless{}',
    '>': r'\textgreater{}',
    '|': r'\textbar{}',
    '"': r'\textquotedbl{}',
    "'": r'\textquotesingle{}',
    '`': r'\textasciigrave{}',
    '\N{MINUS SIGN}': r'$-$',
    '\N{EN DASH}': '--',
    '\N{NO-BREAK SPACE}': '~',
    '\N{GREEK SMALL LETTER OMEGA}': r'$\omega$',
    '\N{GREEK SMALL LETTER MU}': r'$\mu$',
    '\N{SUPERSCRIPT TWO}': r'\textsuperscript{2}',
    '\N{SUPERSCRIPT THREE}': r'\textsuperscript{3}',
    '\N{GREATER-THAN OR EQUAL TO}': r'$\geq$',
    '\N{LESS-THAN OR EQUAL TO}': r'$\leq$',
    '\N{MULTIPLICATION SIGN}': r'$\times$',
    '\N{HORIZONTAL ELLIPSIS}': r'\ldots{}',
    '\N{MICRO SIGN}': r'$\mu$',
    '\n': ' ',
}


@dataclass(frozen=True)
class Column:
    """A column. Numbers stand to the right, text to the left."""

    title: str
    text: bool = False
    p: bool = False
    """Values are probabilities."""
    link: str | None = None
    """Each text is the path of a file below this one."""


@dataclass(frozen=True)
class Table:
    """A table with a caption, which is complete without the text around it."""

    name: str
    """Usable as a file name."""
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    stamp: str = ''
    """Why the results must not be quoted, such as `quick results`."""
    notes: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    """Ids of the rows, for links to them."""

    @property
    def units(self) -> list[str]:
        """The unit of each column whose cells share one. Sizes in bytes have prefixes that differ by cell."""
        found = []
        for at in range(len(self.columns)):
            unit = _unit_of(self, at)
            found.append('' if unit.startswith('bytes') else unit)
        return found

    @property
    def full_caption(self) -> str:
        """The caption with the stamp."""
        return f'{self.caption} [{self.stamp}]' if self.stamp else self.caption


def cell_text(cell: Cell, column: Column, unit: str = '') -> str:
    """The text of a cell, rounded. `unit`: that of the whole column, which its title has."""
    if cell is None:
        return ''
    if isinstance(cell, str):
        return cell
    if is_estimate(cell):
        return show_estimate(cell, with_unit=not unit)
    if column.p:
        return show_p(cell['value'])
    return show(cell['value'], cell['unit'], with_unit=not unit)


def title_with_unit(column: Column, unit: str) -> str:
    """The title of a column, with the unit that all its cells have."""
    return f'{column.title} ({unit})' if unit and unit not in COUNTED else column.title


@dataclass(frozen=True)
class CellParts:
    """The text of a cell in parts, each with the id of its number."""

    value: tuple[str, str | None]
    bounds: list[tuple[str, str | None]]
    """Lower and upper bound; empty where there is no interval."""
    unit: str
    reason: str | None
    """Why there is no value."""


def cell_parts(cell: Cell, column: Column, unit: str = '') -> CellParts:
    """The parts of a cell. `unit`: that of the whole column, which its title has."""
    if not isinstance(cell, dict):
        return CellParts((cell or '', None), [], '', None)
    if not is_estimate(cell):
        reason = cell.get('reason') if cell['value'] is None else None
        return CellParts((cell_text(cell, column, unit), cell['id']), [], '', reason)
    value, low, high = cell['value'], cell['low'], cell['high']
    decimals = decimals_of(cell)
    sized = value['unit'].startswith('bytes')
    shown = show(value['value'], value['unit'], decimals=decimals, with_unit=sized)
    bounds = []
    if low['value'] is not None or high['value'] is not None:
        bounds = [(show(n['value'], value['unit'], decimals=decimals, with_unit=sized), n['id']) for n in (low, high)]
    own_unit = '' if unit or sized or value['value'] is None else value['unit']
    return CellParts((shown, value['id']), bounds, own_unit, value.get('reason') if value['value'] is None else None)


def to_csv(table: Table) -> str:
    """The table as CSV with full precision. An estimate has three columns: value, low and high."""
    wide = [any(is_estimate(row[at]) for row in table.rows) for at in range(len(table.columns))]
    units = [_unit_of(table, at) for at in range(len(table.columns))]
    head: list[str] = []
    for column, is_wide, unit in zip(table.columns, wide, units, strict=True):
        title = title_with_unit(column, unit)
        head += [title, f'{title} low', f'{title} high'] if is_wide else [title]
    rows = [head]
    for row in table.rows:
        line: list[str] = []
        for cell, is_wide in zip(row, wide, strict=True):
            values = _raw(cell)
            line += values + [''] * (3 - len(values)) if is_wide else values[:1]
        rows.append(line)
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(rows)
    return out.getvalue()


def to_markdown(table: Table) -> str:
    """The table in Markdown, as GitHub reads it."""

    def line(cells: list[str]) -> str:
        return f'| {" | ".join(cells)} |\n'

    layout = list(zip(table.columns, table.units, strict=True))
    head = line([_escape_markdown(title_with_unit(column, unit)) for column, unit in layout])
    rule = line([':--' if column.text else '--:' for column in table.columns])
    rows = [
        line([_escape_markdown(cell_text(cell, *of)) for cell, of in zip(row, layout, strict=True)])
        for row in table.rows
    ]
    notes = ''.join(f'\n{_escape_markdown(note)}\n' for note in table.notes)
    return f'**{_escape_markdown(table.full_caption)}**\n\n{head}{rule}{"".join(rows)}{notes}'


def to_latex(table: Table) -> str:
    """The table as a LaTeX `table` with rules of the package booktabs."""

    def line(cells: list[str]) -> str:
        return ' & '.join(cells) + r' \\' + '\n'

    columns = ''.join('l' if column.text else 'r' for column in table.columns)
    layout = list(zip(table.columns, table.units, strict=True))
    rows = ''.join(
        line([escape_latex(cell_text(cell, *of)) for cell, of in zip(row, layout, strict=True)]) for row in table.rows
    )
    notes = ''.join(f'\\par\\footnotesize {escape_latex(note)}\n' for note in table.notes)
    return (
        '% Needs \\usepackage{booktabs,textcomp} and the font encoding T1.\n'
        f'\\begin{{table}}\n\\centering\n\\caption{{{escape_latex(table.full_caption)}}}\n'
        f'\\label{{tab:{table.name}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n'
        f'{line([escape_latex(title_with_unit(*of)) for of in layout])}\\midrule\n{rows}\\bottomrule\n'
        f'\\end{{tabular}}\n{notes}\\end{{table}}\n'
    )


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return ''.join(_LATEX.get(letter, letter) for letter in text)


def write_tables(tables: list[Table], folder: Path) -> None:
    """Write each table in three formats."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for ending, text in (('csv', to_csv(table)), ('md', to_markdown(table)), ('tex', to_latex(table))):
            (folder / f'{table.name}.{ending}').write_text(text, encoding='utf-8')


def _unit_of(table: Table, at: int) -> str:
    units = set()
    for row in table.rows:
        cell = row[at]
        if isinstance(cell, dict):
            units.add(cell['value']['unit'] if is_estimate(cell) else cell['unit'])
    return units.pop() if len(units) == 1 else ''


def _raw(cell: Cell) -> list[str]:
    if is_estimate(cell) and isinstance(cell, dict):
        return [_exact(cell[part]['value']) for part in ('value', 'low', 'high')]
    if is_number(cell) and isinstance(cell, dict):
        return [_exact(cell['value'])]
    text = '' if cell is None else str(cell)
    # A spreadsheet would run a text that starts like a formula.
    return [f"'{text}" if re.match(r'[=+\-@\t]', text) else text]


def _exact(value: float | None) -> str:
    return '' if value is None else repr(value)


def _escape_markdown(text: str) -> str:
    escaped = re.sub(r'([\\`*_{}\[\]<>#|$&~])', r'\\\1', text)
    return escaped.replace('\n', ' ')
