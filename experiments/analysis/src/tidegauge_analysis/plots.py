"""The figures that compare groups: bars, boxes, the raw store beside the application, trials in order."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from scipy import stats

from tidegauge_analysis.cells import label_of
from tidegauge_analysis.figures import (
    HATCHES,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    SHADE,
    WARNING,
    Drawing,
    canvas,
    colour_of,
    finish,
    logarithmic,
    style,
    tint_of,
)
from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.present import Json, capital, combination, decimals_of, show, show_estimate

ROW = 0.27
"""Height of a group, in inches."""
FEWEST_RUNS = 5
"""With fewer runs of a group, bars are points only, and there is no box."""
FAR_OUT = 3.0
"""Standard deviations beyond which a run is drawn as a dot."""


def wrap(label: str, width: int = 22) -> str:
    """A label in lines that fit beside an axis."""
    return '\n'.join(textwrap.wrap(label, width, break_long_words=True)[:3]) or ' '


NEUTRAL = {'fault': 'none', 'network': 'none', 'memory': 'none', 'consistency': 'default', 'target': 0}
"""Levels that a reader assumes where a label names no other one."""


def short_labels(rows: Sequence[Json]) -> list[str]:
    """Labels without levels that all rows share or that are neutral; the full ones if two rows would look alike."""
    shared = {name for name in rows[0]['factors'] if len({json.dumps(row['factors'].get(name)) for row in rows}) == 1}
    labels = []
    for row in rows:
        names = [name for name, level in row['factors'].items() if name not in shared and NEUTRAL.get(name) != level]
        labels.append(label_of(row['factors'], names))
    return labels if len(set(labels)) == len(rows) and all(labels) else [row['label'] for row in rows]


def looks(groups: Sequence[Json]) -> list[tuple[int, int]]:
    """Colour and hatch of each group: the first factor that varies gives the colour, the second one the hatch."""
    varying = [name for name in (groups[0]['factors'] if groups else {}) if len(_levels(groups, name)) > 1]
    found = []
    for group in groups:
        at = [_levels(groups, name).index(group['factors'].get(name)) for name in varying[:2]]
        found.append((at[0] if at else 0, at[1] if len(at) > 1 else 0))
    return found


def _levels(groups: Sequence[Json], name: str) -> list[object]:
    levels: list[object] = []
    for group in groups:
        level = group['factors'].get(name)
        if level not in levels:
            levels.append(level)
    return levels


def axis_label(metric: str, unit: str, note: str = '') -> str:
    """The label of an axis: what, in which unit, and a remark."""
    name = in_words(metric)
    what = f'{name} ({unit})' if unit else name
    return f'{what}, {note}' if note else what


def bars(families: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """Means with 95 % intervals and letters, one panel for each family. None: there are no values."""
    families = [family for family in families if any(_values(group) for group in family['groups'])]
    if not families:
        return None
    counts = [len(family['groups']) for family in families]
    # Space for titles, axes and notes, and for each group.
    height = 0.55 + sum(count * ROW + 0.32 for count in counts)
    with style():
        figure, axes = canvas(height, len(families), height_ratios=[count + 1.2 for count in counts], sharex=True)
        for (axis,), family in zip(axes, families, strict=True):
            _bars(axis, family, several=len(families) > 1)
        first = families[0]
        better = 'higher is better' if first['higher_is_better'] else 'lower is better'
        axes[-1][0].set_xlabel(axis_label(first['metric'], first['unit'], better))
        title = f'{capital(in_words(first["metric"]))} of all groups' if len(families) > 1 else _family_title(first)
        description = '; '.join(
            f'{_prefix(family, several=len(families) > 1)}{group["label"]}: {show_estimate(group["mean"])}'
            + (f', letter {group["letters"]}' if group['letters'] else '')
            for family in families
            for group in family['groups']
        )
        return finish(figure, name, title, f'Means with 95 % intervals. {description}.', stamp)


def _bars(axis: Axes, family: Json, *, several: bool) -> None:
    groups = family['groups']
    fewest = min((len(_values(group)) for group in groups if _values(group)), default=0)
    reach = 0.0
    for row, (group, (colour, hatch)) in enumerate(zip(groups, looks(groups), strict=True)):
        values = _values(group)
        if not values:
            axis.text(0, row, ' no valid run', va='center', fontsize=7.5, color=MUTED)
            continue
        mean, low, high = (_value(group['mean'][part]) for part in ('value', 'low', 'high'))
        mean = float(np.mean(values)) if mean is None else mean
        if fewest >= FEWEST_RUNS:
            axis.barh(
                row, mean, 0.68, color=tint_of(colour), edgecolor=colour_of(colour), linewidth=0.8,
                hatch=HATCHES[hatch % len(HATCHES)],
            )  # fmt: skip
        else:
            axis.plot(mean, row, '|', color=colour_of(colour), markersize=11, markeredgewidth=2)
        offsets = np.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else [0.0]
        axis.plot(values, row + np.array(offsets), 'o', color=colour_of(colour), markersize=2, alpha=0.75)
        if low is not None and high is not None:
            axis.errorbar(mean, row, xerr=[[mean - low], [high - mean]], color=INK, capsize=3, linewidth=1.2)
        end = max(high if high is not None else mean, *values)
        reach = max(reach, end)
        if group['letters']:
            axis.annotate(
                group['letters'], (end, row), (5, 0), textcoords='offset points', va='center', fontweight='bold'
            )
    axis.set_yticks(range(len(groups)), [wrap(group['label']) for group in groups])
    axis.set_ylim(len(groups) - 0.4, -0.6)
    if reach > 0:
        axis.set_xlim(0, max(axis.get_xlim()[1], reach * 1.08))
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.grid(axis='x')
    axis.tick_params(axis='y', length=0)
    if several and family['per']:
        axis.set_title(combination(family['per']))


def boxes(families: Sequence[Json], name: str, stamp: str, rules: Sequence[str]) -> Drawing | None:
    """Box plots of the first family, with a panel for each of the rules of `BOXES`. None: no group has enough runs."""
    family = families[0]
    groups = [group for group in family['groups'] if len(_values(group)) >= FEWEST_RUNS]
    if not groups:
        return None
    with style():
        figure, axes = canvas(1.0 + len(groups) * ROW, 1, len(rules), sharey=True, sharex=True)
        for axis, (rule, title) in zip(axes[0], (BOXES[rule] for rule in rules), strict=True):
            drawn = axis.bxp(
                [rule(group) for group in groups], orientation='horizontal', positions=list(range(len(groups))),
                widths=0.6, patch_artist=True, medianprops={'color': INK, 'linewidth': 1.6},
                flierprops={'marker': 'o', 'markersize': 3, 'markeredgecolor': INK},
            )  # fmt: skip
            for box, (colour, hatch) in zip(drawn['boxes'], looks(groups), strict=True):
                box.set(facecolor=tint_of(colour), edgecolor=colour_of(colour), hatch=HATCHES[hatch % len(HATCHES)])
            for part in ('whiskers', 'caps'):
                for line in drawn[part]:
                    line.set(color=MUTED, linewidth=1)
            axis.set_title(title, fontsize=7.5, color=MUTED)
            axis.set_xlabel(axis_label(family['metric'], family['unit']))
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.grid(axis='x')
            axis.tick_params(axis='y', length=0)
        axes[0][0].set_yticks(range(len(groups)), [wrap(group['label'], 18) for group in groups])
        axes[0][0].set_ylim(len(groups) - 0.5, -0.5)
        description = '; '.join(
            f'{g["label"]}: minimum {_shown(g["minimum"])}, quartiles {_shown(g["lower_quartile"])}, '
            f'{_shown(g["median"]["value"])} and {_shown(g["upper_quartile"])}, maximum {_shown(g["maximum"])}'
            for g in groups
        )
        return finish(figure, name, f'{_family_title(family)}: distribution of runs', f'{description}.', stamp)


def _box_to_extremes(group: Json) -> Json:
    values = np.array(_values(group))
    sd = float(values.std(ddof=1))
    far = values[np.abs(values - values.mean()) > FAR_OUT * sd] if sd > 0 else values[:0]
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {'q1': low, 'med': middle, 'q3': high, 'whislo': values.min(), 'whishi': values.max(), 'fliers': far}


def _box_of_tukey(group: Json) -> Json:
    values = np.array(_values(group))
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    far = values[(values < low - reach) | (values > high + reach)]
    return {'q1': low, 'med': middle, 'q3': high, 'whislo': inside.min(), 'whishi': inside.max(), 'fliers': far}


BOXES = {
    'three-sigma': (_box_to_extremes, 'Whiskers: extremes.\nDots: beyond 3 sd from the mean'),
    'tukey': (_box_of_tukey, 'Whiskers: 1.5 IQR (Tukey).\nDots: beyond them'),
}
"""Rules of box plots, with their words."""


def drivers(differences: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """The raw store beside the application, and their paired difference, for one metric. None: nothing to draw."""
    rows = [row for row in differences if _value(row['difference']['value']) is not None]
    if not rows:
        return None
    with style():
        labels = [wrap(label, 30) for label in short_labels(rows)]
        lines = max(label.count('\n') + 1 for label in labels)
        height = 1.0 + len(rows) * max(0.36, 0.06 + 0.14 * lines)
        figure, ((left, right),) = canvas(height, 1, 2, sharey=True, width_ratios=[1.15, 1])
        names: dict[str, int] = {}
        for at, row in enumerate(rows):
            means = [(row['second'], row['second_mean']), (row['first'], row['first_mean'])]
            ends = [value for _, mean in means if (value := _value(mean['value'])) is not None]
            if len(ends) == 2:
                left.plot(ends, [at, at], color=MUTED, linewidth=0.8, zorder=1)
            for side, mean in means:
                index = names.setdefault(side, len(names))
                _interval(left, mean, at, colour_of(index), MARKERS[index])
            _interval(right, row['difference'], at, INK, 'D')
            text = _difference_text(row['difference'])
            right.annotate(
                text, (_value(row['difference']['value']) or 0, at), (0, 6), textcoords='offset points', ha='center',
                fontsize=7.5,
            )  # fmt: skip
        right.axvline(0, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
        left.set_yticks(range(len(rows)), labels)
        left.set_ylim(len(rows) - 0.45, -0.65)
        for axis in (left, right):
            axis.margins(x=0.16)
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.grid(axis='x')
            axis.tick_params(axis='y', length=0)
        shown = [
            value for row in rows for side in ('first_mean', 'second_mean') if (value := _value(row[side]['value']))
        ]
        if shown and min(shown) > 0 and max(shown) > 20 * min(shown):
            logarithmic(left, ticks=(1.0,))
        elif not rows[0]['higher_is_better']:
            left.set_xlim(left=0)
        left.set_xlabel(axis_label(rows[0]['metric'], rows[0]['unit']))
        right.set_xlabel(axis_label(f'{rows[0]["first"]} {MINUS_SIGN} {rows[0]["second"]}', rows[0]['unit'], 'paired'))
        handles = [
            left.plot([], [], MARKERS[index], color=colour_of(index), label=side)[0] for side, index in names.items()
        ]
        figure.legend(handles=handles, loc='outside upper left', ncols=len(handles))
        description = '; '.join(
            f'{row["label"]}: {row["second"]} {show_estimate(row["second_mean"])}, '
            f'{row["first"]} {show_estimate(row["first_mean"])}, difference {show_estimate(row["difference"])}'
            for row in rows
        )
        title = f'{capital(in_words(rows[0]["metric"]))}: {rows[0]["second"]} beside {rows[0]["first"]}'
        return finish(figure, name, title, f'Means with 95 % intervals. {description}.', stamp)


@dataclass(frozen=True)
class Forest:
    """The words of a forest plot."""

    title: str
    axis: str
    reference: float = 1.0
    """No difference."""


def forest(given: Sequence[Json], name: str, stamp: str, of: Forest) -> Drawing | None:
    """Ratios with their intervals, on a logarithmic axis. None: nothing to draw.

    :param given: rows with `label`, `ratio` and, where a verdict is shown, `verdict`
    """
    rows = [row for row in given if _value(row['ratio']['value']) is not None]
    if not rows:
        return None
    with style():
        labels = [wrap(row['label'], 44) for row in rows]
        lines = sum(label.count('\n') + 1 for label in labels)
        figure, ((axis,),) = canvas(0.8 + max(len(rows) * ROW, lines * 0.15))
        for at, row in enumerate(rows):
            colour = MUTED if row.get('verdict') in {'undecided', 'none'} else SERIES[0]
            value, low, high = (_value(row['ratio'][part]) for part in ('value', 'low', 'high'))
            if value is not None:
                axis.plot(value, at, 'D', color=colour, zorder=3, markersize=5)
            if low is not None and high is not None and low > 0:
                axis.plot([low, high], [at, at], '|-', color=colour, linewidth=1.2, markersize=5)
        axis.axvline(of.reference, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
        axis.set_yticks(range(len(rows)), labels)
        axis.set_ylim(len(rows) - 0.45, -0.55)
        logarithmic(axis)
        axis.tick_params(axis='y', length=0)
        axis.set_xlabel(of.axis)
        verdicts = (f', {row["verdict"]}' if row.get('verdict') else '' for row in rows)
        description = '; '.join(
            f'{row["label"]}: {show_estimate(row["ratio"])}{verdict}'
            for row, verdict in zip(rows, verdicts, strict=True)
        )
        return finish(figure, name, of.title, f'{description}.', stamp)


MINUS_SIGN = '\N{MINUS SIGN}'


def _difference_text(estimate: Json) -> str:
    value = estimate['value']['value']
    text = show(value, estimate['value']['unit'], decimals=decimals_of(estimate), with_unit=False)
    return f'+{text}' if value > 0 else text


def _interval(axis: Axes, estimate: Json, at: float, colour: str, marker: str) -> None:
    mean, low, high = (_value(estimate[part]) for part in ('value', 'low', 'high'))
    if mean is None:
        return
    axis.plot(mean, at, marker, color=colour, zorder=3, markersize=5)
    if low is not None and high is not None:
        axis.errorbar(mean, at, xerr=[[mean - low], [high - mean]], color=colour, capsize=2.5, linewidth=1.2)


def trial_series(series: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """The trials of each series in order, with warm-up shaded and the class of the series. For one metric."""
    drawn = [one for one in series if any(_value(trial['value']) is not None for trial in one['trials'])]
    drawn.sort(key=lambda one: (one['label'], one['block']))
    if not drawn:
        return None
    rows = math.ceil(len(drawn) / 2)
    with style():
        figure, axes = canvas(0.55 + rows * 1.15, rows, 2, sharex=True)
        flat = [axis for row in axes for axis in row]
        for axis, one in zip(flat, drawn, strict=False):
            _trials(axis, one)
        for axis in flat[len(drawn) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel('trial')
        figure.supylabel(axis_label(drawn[0]['metric'], drawn[0]['unit']), fontsize=8.5)
        invalid = Patch(color=WARNING, label='\N{MULTIPLICATION SIGN} invalid run')
        warm = Patch(color=SHADE, label='warm-up of the experiment file')
        figure.legend(handles=[warm, invalid], loc='outside lower right', ncols=2, handlelength=1.2)
        description = '; '.join(
            f'{one["label"]}, block {one["block"]}: {one["shape"] or "not classified"}, '
            f'{len(one["trials"])} trials, {one["fixed_warmup"]} of them warm-up'
            for one in drawn
        )
        return finish(figure, name, f'{capital(in_words(drawn[0]["metric"]))} by trial', f'{description}.', stamp)


def values_by_run(
    values: Mapping[str, Sequence[float]], units: Mapping[str, str], name: str, stamp: str
) -> Drawing | None:
    """Repeated runs in order: a panel for each figure, with the mean and its 95 % interval. None: nothing varies."""
    if not values:
        return None
    rows = math.ceil(len(values) / 2)
    with style():
        figure, axes = canvas(0.45 + rows * 1.2, rows, 2, sharex=True)
        flat = [axis for row in axes for axis in row]
        for axis, (path, series) in zip(flat, values.items(), strict=False):
            runs = range(1, len(series) + 1)
            mean = float(np.mean(series))
            half = float(stats.t.ppf(0.975, len(series) - 1) * stats.sem(series))
            axis.axhspan(mean - half, mean + half, color=tint_of(0), linewidth=0, zorder=0)
            axis.axhline(mean, color=SERIES[0], linewidth=1)
            axis.plot(runs, series, 'o-', color=INK, linewidth=0.8, markersize=3.5)
            axis.set_title(wrap(axis_label(path, units[path]), 36), fontsize=7.5)
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.yaxis.set_major_locator(MaxNLocator(4))
            axis.grid(axis='y')
            axis.margins(x=0.08, y=0.15)
        for axis in flat[len(values) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel('run')
        description = '; '.join(
            f'{path}: {", ".join(show(value, units[path]) for value in series)}' for path, series in values.items()
        )
        title = 'Figures by run; line and band: mean with its 95 % interval'
        return finish(figure, name, title, f'{description}.', stamp)


def _trials(axis: Axes, one: Json) -> None:
    trials = [trial for trial in one['trials'] if _value(trial['value']) is not None]
    numbers, values = [t['trial'] for t in trials], [t['value']['value'] for t in trials]
    axis.plot(numbers, values, color=SERIES[0], linewidth=1, zorder=2)
    axis.plot(numbers, values, 'o', color=SERIES[0], markersize=3, zorder=3)
    bad = [trial for trial in trials if not trial['valid']]
    axis.plot(
        [t['trial'] for t in bad], [t['value']['value'] for t in bad], 'x', color=WARNING, markersize=6, zorder=4,
        markeredgewidth=1.6,
    )  # fmt: skip
    if one['fixed_warmup'] > 0:
        axis.axvspan(min(numbers) - 0.5, one['fixed_warmup'] + 0.5, color=SHADE, zorder=0, linewidth=0)
    cut = _value(one['mser_warmup'])
    if cut is not None and cut > 0:
        axis.axvline(cut + 0.5, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
    axis.set_title(wrap(f'{one["label"]} · block {one["block"]}', 40), fontsize=7.5)
    axis.text(
        0.99, 0.04, one['shape'] or 'not classified', transform=axis.transAxes, ha='right', fontsize=7.5,
        style='italic', color=MUTED,
    )  # fmt: skip
    axis.margins(y=0.25)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(4))
    axis.grid(axis='y')


def _family_title(family: Json) -> str:
    return str(family['title'])


def _prefix(family: Json, *, several: bool) -> str:
    return f'{combination(family["per"])}, ' if several and family['per'] else ''


def _values(group: Json) -> list[float]:
    return [v['value']['value'] for v in group['values'] if _value(v['value']) is not None]


def _value(number: Json) -> float | None:
    value: float | None = number['value']
    return value


def _shown(number: Json) -> str:
    return show(number['value'], number['unit'])
