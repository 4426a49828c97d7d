"""Draws figures as SVG and PNG: the same bytes for the same values, with text as text and without a date."""

import argparse
import html
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tidegauge_analysis.archive import Json, read_json
from tidegauge_analysis.problems import reported

WIDTH = 5.2
"""Of a figure, in inches. It fits a column of a journal and, at about 70 %, a phone."""

INK, MUTED, GRID, PAPER, WARNING = '#1b1f24', '#57606a', '#d5dbe1', '#fefefe', '#a3131f'
SHADE = '#e9ecef'
SERIES = ('#0a5ea8', '#e08e00', '#007a5a', '#c25b93', '#56a8dd', '#a84300', '#6b6b6b')
"""Colours of groups. They are distinct with the common colour deficiencies; their order alternates dark and light."""
TINTS = ('#a9cbe8', '#f5d79c', '#9fd4c3', '#ecc3d9', '#cfe6f6', '#e3b998', '#cdcdcd')
"""The same colours in light, for areas."""
HATCHES = ('', '/////', '.....', 'xxxxx')
MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X')

_VARIABLES = {
    INK: '--ink',
    MUTED: '--muted',
    GRID: '--grid',
    PAPER: '--paper',
    WARNING: '--warning',
    SHADE: '--shade',
    **{colour: f'--s{number}' for number, colour in enumerate(SERIES, start=1)},
    **{colour: f'--t{number}' for number, colour in enumerate(TINTS, start=1)},
}
_STYLE = {
    'svg.fonttype': 'none',
    'svg.hashsalt': 'tidegauge',
    'text.parse_math': False,
    'font.family': 'DejaVu Sans',
    'font.size': 8.5,
    'axes.titlesize': 8.5,
    'axes.titlelocation': 'left',
    'axes.labelsize': 8.5,
    'axes.edgecolor': MUTED,
    'axes.labelcolor': INK,
    'axes.linewidth': 0.7,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.axisbelow': True,
    'axes.facecolor': 'none',
    'axes.formatter.useoffset': False,
    'figure.facecolor': PAPER,
    'text.color': INK,
    'xtick.color': MUTED,
    'ytick.color': MUTED,
    'xtick.labelcolor': INK,
    'ytick.labelcolor': INK,
    'xtick.labelsize': 8,
    'ytick.labelsize': 8,
    'grid.color': GRID,
    'grid.linewidth': 0.6,
    'hatch.linewidth': 0.7,
    'legend.frameon': False,
    'legend.fontsize': 8,
    'lines.linewidth': 1.4,
    'lines.markersize': 4,
}
_FONTS = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif'
_PNG_DPI = 200


@dataclass(frozen=True)
class Drawing:
    """A figure in the formats of a report."""

    name: str
    """Usable as an id and as a file name."""
    title: str
    description: str
    """What the figure shows, for readers who cannot see it."""
    inline: str
    """SVG for a page: without a prolog, with the page's colours."""
    svg: str
    png: bytes


def canvas(
    height: float,
    rows: int = 1,
    columns: int = 1,
    **grid: Any,  # noqa: ANN401 - passed on to Matplotlib
) -> tuple[Figure, list[list[Axes]]]:
    """Make a figure with a grid of axes. `height` is in inches. Call it within `style()`."""
    figure = Figure(figsize=(WIDTH, height), layout='constrained')
    axes = figure.subplots(rows, columns, squeeze=False, **grid)
    return figure, [list(row) for row in axes]


@contextmanager
def style() -> Iterator[None]:
    """The parameters of Matplotlib for a figure, from its first line to its file. Those of the user do not count."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


def finish(figure: Figure, name: str, title: str, description: str, stamp: str) -> Drawing:
    """Write a figure. A stamp, such as `quick results`, is drawn above it. Call it within `style()`."""
    if stamp:
        figure.suptitle(stamp.upper(), x=0.995, ha='right', fontsize=7.5, fontweight='bold', color=WARNING)
    svg = io.StringIO()
    figure.savefig(svg, format='svg', metadata={'Date': None, 'Creator': None})
    png = io.BytesIO()
    figure.savefig(png, format='png', dpi=_PNG_DPI, metadata={'Software': None})
    text = _describe(svg.getvalue(), name, title, description)
    start = text.index('<svg')
    return Drawing(name, title, description, _themed(text[start:]), text, png.getvalue())


def logarithmic(axis: Axes, which: Literal['x', 'y'] = 'x', ticks: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """A logarithmic axis with plain numbers at these multiples of powers of ten: 0.1, 0.2, 0.5, 1."""
    axis.set(**{f'{which}scale': 'log'})
    scale = axis.xaxis if which == 'x' else axis.yaxis
    scale.set_major_locator(LogLocator(subs=ticks, numticks=12))
    scale.set_major_formatter(FuncFormatter(lambda value, _: f'{value:,g}' if value < 1e6 else f'{value:g}'))
    scale.set_minor_formatter(NullFormatter())
    axis.grid(axis=which)


def write_drawings(drawings: list[Drawing], folder: Path) -> None:
    """Write each figure as SVG and PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        (folder / f'{drawing.name}.svg').write_text(drawing.svg, encoding='utf-8')
        (folder / f'{drawing.name}.png').write_bytes(drawing.png)


def colour_of(index: int) -> str:
    """The colour of a group; they repeat after seven."""
    return SERIES[index % len(SERIES)]


def tint_of(index: int) -> str:
    """The light colour of a group."""
    return TINTS[index % len(TINTS)]


@reported
def draw_file(name: str, draw: Callable[[Json], Drawing], arguments: Sequence[str]) -> int:
    """Run a program that draws one figure as SVG. Exit codes: 0 drawn, 1 a file cannot be used, 2 bad usage."""
    parser = argparse.ArgumentParser(prog=f'python -m tidegauge_analysis.{name}', description=draw.__doc__)
    parser.add_argument('figures', type=Path, help='figures as JSON')
    parser.add_argument('out', type=Path, help='the SVG to write')
    given = parser.parse_args(arguments)
    given.out.write_text(draw(read_json(given.figures)).svg, encoding='utf-8')
    return 0


def _describe(svg: str, name: str, title: str, description: str) -> str:
    """Give the SVG a title and a description, ids that no other figure of the page has, and common fonts."""
    svg = re.sub(r'<metadata>.*?</metadata>', '', svg, flags=re.DOTALL)
    name = f'svg-{name}'
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'url\(#([^)]+)\)', rf'url(#{name}-\1)', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = svg.replace("'DejaVu Sans'", _FONTS.replace('"', "'"))
    labels = (
        f'<title id="{name}-title">{html.escape(title)}</title>\n'
        f'<desc id="{name}-desc">{html.escape(description)}</desc>\n'
    )
    role = f'role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
    return re.sub(r'<svg ([^>]*)>', lambda found: f'<svg {role}{found[1]}>\n{labels}', svg, count=1)


def _themed(svg: str) -> str:
    """Replace the colours by the variables of the page, which differ in the dark."""
    return re.sub(
        r'#[0-9a-f]{6}\b',
        lambda found: f'var({_VARIABLES[found[0]]}, {found[0]})' if found[0] in _VARIABLES else found[0],
        svg,
    )
