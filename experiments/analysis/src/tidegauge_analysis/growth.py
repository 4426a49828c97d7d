"""Draws what writes and reads cost while a store grows: `python -m tidegauge_analysis.growth FIGURES.json OUT.svg`.

The figures are those of `npm run bench -- growth`.
"""

import sys
from collections.abc import Sequence

from tidegauge_analysis.figures import (
    MARKERS,
    MUTED,
    SHADE,
    Drawing,
    canvas,
    colour_of,
    draw_file,
    finish,
    logarithmic,
    style,
)
from tidegauge_analysis.present import Json

FLAT = 0.2
"""Costs within this part of those of the small store count as equal."""

CHART_LIMIT_MS = 50
"""The longest time of a chart over all readings."""


def growth(figures: Json) -> Drawing:
    """Draw the costs relative to those of the small store, and the time of a chart, over the number of readings."""
    small = figures['small']
    with style():
        figure, ((costs,), (charts,)) = canvas(4.6, 2, 1, sharex=True, height_ratios=(3, 2))
        costs.axhspan(1 - FLAT, 1 + FLAT, color=SHADE)
        charts.axhline(CHART_LIMIT_MS, color=MUTED, linestyle=':')
        for index, result in enumerate(figures['results']):
            rows = [point['rows'] for point in result['points']]
            for key, line, name in (('writeRatio', '-', 'writes'), ('readRatio', '--', 'reads')):
                values = [point[key] for point in result['points']]
                label = f'{result["store"]}, {name}'
                costs.plot(rows, values, line, color=colour_of(index), marker=MARKERS[index], label=label)
            times = [point['chartMs'] for point in result['points']]
            charts.plot(rows, times, color=colour_of(index), marker=MARKERS[index], label=result['store'])
        costs.set(ylabel=f'cost, with {small:,} readings: 1', ylim=(0, None))
        charts.set(ylabel='chart of all, ms', xlabel='readings in the store', ylim=(0, None))
        logarithmic(charts, ticks=(1.0,))
        costs.legend(loc='lower left', ncols=2)
        charts.legend(loc='center left')
        title = 'Cost of writes and reads while a store grows'
        stamp = 'quick results' if figures['quick'] else ''
        return finish(figure, 'growth', title, _describe(figures), stamp)


def _describe(figures: Json) -> str:
    """Name the last point of each store."""
    parts = []
    for result in figures['results']:
        last = result['points'][-1]
        parts.append(
            f'{result["store"]}: with {last["rows"]:,} readings, a write costs {last["writeRatio"]:.2f} times '
            f'and a read {last["readRatio"]:.2f} times as much as with {figures["small"]:,}; '
            f'a chart takes {last["chartMs"]:.1f} ms.'
        )
    return ' '.join(parts)


def main(arguments: Sequence[str]) -> int:
    """Run the program. Returns its exit code."""
    return draw_file('growth', growth, arguments)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
