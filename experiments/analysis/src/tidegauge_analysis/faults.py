"""Draws a run with faults over time: `python -m tidegauge_analysis.faults FIGURES.json OUT.svg`.

The figures are those of `npm run bench -- faults`.
"""

import sys
from collections.abc import Sequence

from matplotlib.axes import Axes

from tidegauge_analysis.figures import SHADE, Drawing, canvas, colour_of, draw_file, finish, style
from tidegauge_analysis.present import Json

MIB = 1024 * 1024
NAMED = 12
"""Faults of a run that are named in the picture at most. More names would cover each other."""


def faults(figures: Json) -> Drawing:
    """Draw messages, what waits in ingest, and its memory over time. Faults are shaded."""
    samples = figures['samples']
    at = [sample['at'] for sample in samples]
    with style():
        figure, ((messages,), (waiting,), (memory,)) = canvas(5.6, 3, 1, sharex=True, height_ratios=(3, 2, 2))
        for axes in (messages, waiting, memory):
            _shade(axes, figures['faults'])
        lines = (('sent', '-'), ('acknowledged', '--'), ('stored', '-'))
        for index, (key, line) in enumerate(lines):
            messages.plot(at, [sample[key] for sample in samples], line, color=colour_of(index), label=key)
        for index, (key, label) in enumerate((('spooled', 'in the spool'), ('inFlight', 'in memory'))):
            waiting.plot(at, [sample[key] for sample in samples], color=colour_of(index), label=label)
        memory.plot(at, [sample['residentBytes'] / MIB for sample in samples], color=colour_of(0))
        _name(messages, figures['faults'])
        messages.set(ylabel='messages', ylim=(0, None))
        waiting.set(ylabel='readings that wait', ylim=(0, None))
        memory.set(ylabel='memory, MiB', xlabel='seconds', ylim=(0, None))
        messages.legend(loc='lower right')
        waiting.legend(loc='upper right')
        stamp = 'quick results' if figures['quick'] else ''
        return finish(figure, 'faults', figures['title'], _describe(figures), stamp)


def _shade(axes: Axes, happened: Sequence[Json]) -> None:
    """Shade the time of each fault."""
    for fault in happened:
        axes.axvspan(fault['begin'], fault['end'], color=SHADE)


def _name(axes: Axes, happened: Sequence[Json]) -> None:
    """Write the name of each fault at its begin, if there are few."""
    if len(happened) > NAMED:
        return
    for fault in happened:
        place = axes.get_xaxis_transform()
        axes.text(fault['begin'], 0.98, fault['fault'], transform=place, rotation=90, va='top', ha='right', fontsize=7)


def _describe(figures: Json) -> str:
    """Name the counts of the run."""
    readings = figures['readings']
    return (
        f'{figures["title"]}: {len(figures["faults"])} faults in {figures["seconds"]:.0f} s; of '
        f'{readings["acknowledged"]:,} acknowledged readings, {readings["missing"]:,} are missing and '
        f'{readings["duplicate"]:,} are stored twice; at most {figures["peakBytes"] / MIB:.0f} MiB of memory.'
    )


def main(arguments: Sequence[str]) -> int:
    """Run the program. Returns its exit code."""
    return draw_file('faults', faults, arguments)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
