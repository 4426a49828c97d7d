"""Figures of sweeps: each metric over the levels of the one factor that varies."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from tidegauge_analysis.figures import MARKERS, Drawing, canvas, colour_of, finish, logarithmic, style
from tidegauge_analysis.load_plots import curves
from tidegauge_analysis.numbers import anchor
from tidegauge_analysis.plots import axis_label, wrap
from tidegauge_analysis.present import Json, combination, show_estimate

MOST_CURVES = 7
"""In one figure of latency over throughput: as many as there are colours."""
FEWEST = 3
"""Levels that make a curve."""
WIDE = 20
"""An axis is logarithmic where its largest value is more than this many times the smallest one."""


def sweeps(families: Sequence[Json], name: str, stamp: str) -> list[Drawing]:
    """A figure for each factor and metric, with a curve for each family."""
    together: dict[tuple[str, str, str], list[Json]] = {}
    for family in families:
        factor = swept(family)
        if factor is not None:
            together.setdefault((family['part'] or '', factor, family['metric']), []).append(family)
    return [
        _figure(rows, factor, anchor(name, part, factor, metric.replace('.', ' ')), stamp)
        for (part, factor, metric), rows in together.items()
    ]


def curve_figures(given: Sequence[Json], name: str, stamp: str) -> list[Drawing]:
    """Latency over throughput: one figure, or where it would have too many curves, one for each part and workload."""
    together: dict[str, list[Json]] = {}
    for curve in given:
        factors = curve['factors']
        apart = [curve['part'], curve['by'], curve['latency_metric'], factors.get('workload'), factors.get('driver')]
        key = anchor(name, *(str(each).replace('.', ' ') for each in apart if each is not None))
        together.setdefault(key if len(given) > MOST_CURVES else name, []).append(curve)
    drawings = [curves(rows, key, stamp) for key, rows in together.items()]
    return [drawing for drawing in drawings if drawing is not None]


def swept(family: Json) -> str | None:
    """The only factor in which the groups of a family differ, if a curve can be drawn over it."""
    factors = family['groups'][0]['factors'] if family['groups'] else {}
    varying = [name for name in factors if len({str(group['factors'].get(name)) for group in family['groups']}) > 1]
    if len(varying) != 1 or len(family['groups']) < FEWEST:
        return None
    # Categories have an order in a sweep only, such as the levels of consistency.
    levels = [group['factors'][varying[0]] for group in family['groups']]
    return varying[0] if family['part'] or all(_is_number(level) for level in levels) else None


def _figure(families: Sequence[Json], factor: str, name: str, stamp: str) -> Drawing:
    first = families[0]
    levels = list(dict.fromkeys(group['factors'][factor] for family in families for group in family['groups']))
    numeric = all(_is_number(level) for level in levels)
    at = {level: float(level) if numeric else float(index) for index, level in enumerate(levels)}
    with style():
        figure, ((axis,),) = canvas(2.9)
        for index, family in enumerate(families):
            _curve(axis, family, index, {group['label']: at[group['factors'][factor]] for group in family['groups']})
        if not numeric:
            axis.set_xticks(list(at.values()), [str(level) for level in levels])
        elif min(at.values()) > 0 and max(at.values()) > WIDE * min(at.values()):
            logarithmic(axis)
        means = [mean for family in families for group in family['groups'] if (mean := _mean(group)) is not None]
        if means and min(means) > 0 and max(means) > WIDE * min(means):
            logarithmic(axis, 'y')
        else:
            axis.set_ylim(bottom=0)
        axis.set_xlabel(factor)
        axis.set_ylabel(axis_label(first['metric'], first['unit']))
        axis.grid()
        handles, labels = axis.get_legend_handles_labels()
        if len(families) > 1:
            figure.legend(handles, [wrap(label, 34) for label in labels], loc='outside upper left', ncols=2)
        description = '; '.join(
            f'{_label(family)}: '
            + ', '.join(f'{show_estimate(group["mean"])} at {group["factors"][factor]}' for group in family['groups'])
            for family in families
        )
        return finish(figure, name, f'{first["metric"]} over {factor}', f'{description}.', stamp)


def _curve(axis: Axes, family: Json, index: int, at: dict[str, float]) -> None:
    """Means with their intervals. A group without a mean is left out."""
    groups = [(at[group['label']], group['mean']) for group in family['groups'] if _mean(group) is not None]
    groups.sort(key=lambda group: group[0])
    colour, marker = colour_of(index), MARKERS[index % len(MARKERS)]
    x, y = [x for x, _ in groups], [mean['value']['value'] for _, mean in groups]
    axis.plot(x, y, color=colour, marker=marker, label=_label(family), zorder=3)
    for position, mean in groups:
        value, low, high = (mean[which]['value'] for which in ('value', 'low', 'high'))
        if low is not None and high is not None:
            # An interval that reaches below zero has no place on a logarithmic axis.
            error = [[min(value - low, value * 0.999)], [high - value]]
            axis.errorbar(position, value, yerr=error, color=colour, linewidth=0.9, capsize=2, zorder=2)


def _mean(group: Json) -> float | None:
    mean: float | None = group['mean']['value']['value']
    return mean


def _label(family: Json) -> str:
    return combination(family['per']) or 'all runs'


def _is_number(level: object) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)
