"""Draws consumers that empty a queue: `python -m tidegauge_analysis.peers FIGURES.json OUT.svg`.

The figures are those of `npm run bench -- peers`.
"""

import sys
from collections.abc import Sequence

from tidegauge_analysis.figures import INK, Drawing, canvas, draw_file, finish, style, tint_of
from tidegauge_analysis.present import Json

PANELS = (
    ('perSecond', 'messages per second'),
    ('cpuMicros', 'CPU of the consumer per message, µs'),
    ('mebibytes', 'largest memory of the consumer, MiB'),
)


def peers(figures: Json) -> Drawing:
    """Draw a bar for each consumer, which is its median or its largest memory, with a point for each round."""
    results = list(reversed(figures['results']))
    with style():
        figure, rows = canvas(4.4, len(PANELS), 1)
        for (axis,), (field, label) in zip(rows, PANELS, strict=True):
            for place, result in enumerate(results):
                axis.barh(place, result[field], color=tint_of(len(results) - 1 - place))
                values = [trial[field] for trial in result['trials']]
                axis.plot(values, [place] * len(values), '.', color=INK)
            axis.set(xlabel=label, yticks=range(len(results)), yticklabels=[each['consumer'] for each in results])
            axis.set_xlim(left=0)
        title = 'Consumers that empty a queue at the broker'
        return finish(figure, 'peers', title, _describe(figures), 'quick results' if figures['quick'] else '')


def _describe(figures: Json) -> str:
    """Name the figures of each consumer."""
    return ' '.join(
        f'{each["consumer"]}: {each["perSecond"]:,.0f} messages/s, {each["cpuMicros"]:.1f} µs of CPU per message, '
        f'{each["mebibytes"]:.0f} MiB.'
        for each in figures['results']
    )


def main(arguments: Sequence[str]) -> int:
    """Run the program. Returns its exit code."""
    return draw_file('peers', peers, arguments)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
