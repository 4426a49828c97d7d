"""The figures of operations and of the machine: histograms, time lines, latency over throughput, resources."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tidegauge_analysis.figures import (
    INK,
    MARKERS,
    MUTED,
    SERIES,
    WARNING,
    Drawing,
    canvas,
    colour_of,
    finish,
    logarithmic,
    style,
    tint_of,
)
from tidegauge_analysis.plots import axis_label, wrap
from tidegauge_analysis.present import Json, show, show_estimate

ROLES = ('store', 'api', 'client', 'machine')


def histograms(latencies: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """Operations by latency, on a logarithmic axis: a row for each group, with the median and the 99th percentile."""
    rows = [row for row in latencies if any(row['histogram']['counts']['values'])]
    if not rows:
        return None
    with style():
        figure, axes = canvas(0.65 + len(rows) * 0.5, len(rows), sharex=True)
        for (axis,), row in zip(axes, rows, strict=True):
            counts = np.array([count or 0 for count in row['histogram']['counts']['values']])
            axis.stairs(
                counts / counts.max(), row['histogram']['edges'], fill=True, facecolor=tint_of(0), edgecolor=SERIES[0]
            )
            for quantile, dashes in (('p50', (0, ())), ('p99', (0, (3, 2)))):
                value = _quantile(row, quantile)
                if value is not None:
                    axis.axvline(value, color=INK, linewidth=1, linestyle=dashes)
            axis.set_yticks([0.5], [wrap(row['label'])])
            axis.tick_params(axis='y', length=0)
            axis.spines['left'].set_visible(False)
            axis.set_ylim(0, 1.08)
        logarithmic(axes[-1][0])
        used = [_range(row['histogram']) for row in rows]
        axes[-1][0].set_xlim(min(low for low, _ in used), max(high for _, high in used))
        axes[-1][0].set_xlabel('latency (ms, logarithmic); lines: median, 99th percentile (dashed)')
        description = '; '.join(
            f'{row["label"]}: {show(row["operations"]["value"])} operations, '
            f'median {show(_quantile(row, "p50"), "ms")}, 99th percentile {show(_quantile(row, "p99"), "ms")}'
            for row in rows
        )
        return finish(figure, name, f'Latencies of {rows[0]["operation"]}', f'{description}.', stamp)


def timelines(latencies: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """Latency within the runs, second by second: mean and 99th percentile."""
    rows = [row for row in latencies if len(row['timeline']['starts']) > 1]
    if not rows:
        return None
    with style():
        figure, axes = canvas(0.75 + len(rows) * 0.62, len(rows), sharex=True)
        for (axis,), row in zip(axes, rows, strict=True):
            line = row['timeline']
            for index, values in enumerate((line['mean_latency'], line['p99_latency'])):
                shown = [math.nan if value is None else value for value in values['values']]
                axis.plot(line['starts'], shown, color=SERIES[index], linestyle=('-', '--')[index])
            axis.set_ylim(bottom=0)
            axis.yaxis.set_major_locator(MaxNLocator(3))
            axis.grid(axis='y')
            axis.set_title(wrap(row['label'], 60), fontsize=7.5)
        axes[-1][0].set_xlabel('seconds from the start of the run')
        figure.supylabel('latency (ms)', fontsize=8.5)
        handles = [
            axes[0][0].plot([], [], color=SERIES[i], linestyle=('-', '--')[i], label=label)[0]
            for i, label in enumerate(('mean', '99th percentile'))
        ]
        figure.legend(handles=handles, loc='outside upper left', ncols=2)
        description = f'Mean and 99th percentile of each time step for {", ".join(row["label"] for row in rows)}.'
        return finish(figure, name, f'Latency of {rows[0]["operation"]} within the runs', description, stamp)


def curves(given: Sequence[Json], name: str, stamp: str) -> Drawing | None:
    """Latency over achieved throughput, and achieved over target throughput, with the overload point."""
    drawn = [curve for curve in given if len(curve['points']) > 1]
    if not drawn:
        return None
    by_target = all(point['target']['value'] is not None for curve in drawn for point in curve['points'])
    with style():
        figure, axes = canvas(5.0, 2)
        upper, lower = axes[0][0], axes[1][0]
        for index, curve in enumerate(drawn):
            _curve(upper, curve, index, lambda point: point['achieved'], lambda point: point['latency'])
            _curve(lower, curve, index, _load, lambda point: point['achieved'])
        latencies = [p['latency']['value']['value'] for c in drawn for p in c['points']]
        known = [value for value in latencies if value is not None and value > 0]
        if known and max(known) > 20 * min(known):
            logarithmic(upper, 'y')
        else:
            upper.set_ylim(bottom=0)
        upper.set_xlim(left=0)
        upper.set_xlabel('achieved throughput (ops/s)')
        upper.set_ylabel(axis_label(drawn[0]['latency_metric'], drawn[0]['unit']))
        lower.set_xlabel('target throughput (ops/s)' if by_target else drawn[0]['by'])
        lower.set_ylabel('achieved (ops/s)')
        lower.set_xlim(left=0)
        lower.set_ylim(bottom=0)
        if by_target:
            end = max(point['target']['value'] for curve in drawn for point in curve['points'])
            lower.plot([0, end], [0, end], color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
        for axis in (upper, lower):
            axis.grid()
        handles, labels = upper.get_legend_handles_labels()
        figure.legend(handles, [wrap(label, 30) for label in labels], loc='outside upper left', ncols=2)
        description = '; '.join(
            f'{curve["label"]}: '
            + ', '.join(f'{show_estimate(p["achieved"])} at {show_estimate(p["latency"])}' for p in curve['points'])
            + ('' if curve['overload'] is None else f', overloaded from point {curve["overload"] + 1}')
            for curve in drawn
        )
        return finish(figure, name, 'Latency and throughput under load', f'{description}.', stamp)


def _load(point: Json) -> Json:
    at = point['target'] if point['target']['value'] is not None else {**point['target'], 'value': point['load']}
    return {'value': at, 'low': {'value': None}, 'high': {'value': None}}


def _curve(axis: Axes, curve: Json, index: int, across: Callable[[Json], Json], up: Callable[[Json], Json]) -> None:
    points = [
        (across(p), up(p), at)
        for at, p in enumerate(curve['points'])
        if across(p)['value']['value'] is not None and up(p)['value']['value'] is not None
    ]
    x, y = [p[0]['value']['value'] for p in points], [p[1]['value']['value'] for p in points]
    colour, marker = colour_of(index), MARKERS[index % len(MARKERS)]
    axis.plot(x, y, color=colour, marker=marker, label=curve['label'], zorder=3)
    for one, other, at in points:
        axis.errorbar(
            one['value']['value'], other['value']['value'], xerr=_error(one), yerr=_error(other), color=colour,
            linewidth=0.9, capsize=2, zorder=2,
        )  # fmt: skip
        if at == curve['overload']:
            where = (one['value']['value'], other['value']['value'])
            axis.plot(*where, 'o', markersize=11, markerfacecolor='none', markeredgecolor=WARNING, markeredgewidth=1.4)
            axis.annotate(
                'overload', where, (-9, 5), textcoords='offset points', ha='right', fontsize=7.5, color=WARNING
            )


def _error(estimate: Json) -> list[list[float]] | None:
    value, low, high = (estimate[part]['value'] for part in ('value', 'low', 'high'))
    return None if low is None or high is None else [[value - low], [high - value]]


_QUANTITIES: dict[str, tuple[str, tuple[tuple[str, float, str], ...]]] = {
    'processor-memory': (
        'Processors and memory',
        (('cpu', 1, 'processors in use'), ('memory', 1e6, 'memory (MB)')),
    ),
    'disk-network': (
        'Disk and network',
        (
            ('written', 1e6, 'written (MB per run)'),
            ('received', 1e6, 'received (MB per run)'),
            ('sent', 1e6, 'sent (MB per run)'),
        ),
    ),
}


def resources(given: Sequence[Json], name: str, stamp: str) -> list[Drawing]:
    """What each node used, by group: processors and memory, disk and network."""
    rows = [(group, node) for group in given for node in group['nodes']]
    found = []
    for suffix, (title, quantities) in _QUANTITIES.items():
        # A quantity that is zero or not known for all nodes has no panel; it is in the table.
        known = [q for q in quantities if any(node[q[0]]['value']['value'] for _, node in rows)]
        if not known:
            continue
        with style():
            figure, axes = canvas(0.75 + len(rows) * 0.2, 1, len(known), sharey=True)
            for axis, (field, scale, label) in zip(axes[0], known, strict=True):
                for at, (_, node) in enumerate(rows):
                    _usage(axis, node[field], scale, at, ROLES.index(node['role']))
                axis.set_xlabel(label)
                axis.xaxis.set_major_locator(MaxNLocator(4 if len(known) < 3 else 2))
                axis.grid(axis='x')
                axis.tick_params(axis='y', length=0)
                axis.set_xlim(left=0)
            labels = [f'{wrap(group["label"], 26)} · {node["node"]}' for group, node in rows]
            axes[0][0].set_yticks(range(len(rows)), labels, fontsize=7.5)
            axes[0][0].set_ylim(len(rows) - 0.5, -0.5)
            description = '; '.join(
                f'{group["label"]}, {node["node"]}: '
                + ', '.join(f'{label} {show_estimate(node[field])}' for field, _, label in known)
                for group, node in rows
            )
            found.append(finish(figure, f'{name}-{suffix}', title, f'{description}.', stamp))
    return found


def _usage(axis: Axes, estimate: Json, scale: float, at: int, role: int) -> None:
    value, low, high = (estimate[part]['value'] for part in ('value', 'low', 'high'))
    if value is None:
        axis.text(0, at, ' not known', va='center', fontsize=7, color=MUTED)
        return
    mean = value / scale
    axis.barh(at, mean, 0.7, color=tint_of(role), edgecolor=colour_of(role), linewidth=0.8)
    if low is not None and high is not None:
        axis.errorbar(mean, at, xerr=[[mean - low / scale], [high / scale - mean]], color=INK, capsize=2, linewidth=1)


def _range(histogram: Json) -> tuple[float, float]:
    """The edges of the bins that are not empty, with a bin more on each side."""
    filled = [at for at, count in enumerate(histogram['counts']['values']) if count]
    edges = histogram['edges']
    return edges[max(0, filled[0] - 1)], edges[min(len(edges) - 1, filled[-1] + 2)]


def _quantile(row: Json, label: str) -> float | None:
    at = {'p50': 0.5, 'p99': 0.99}[label]
    for quantile in row['quantiles']:
        if quantile['at'] == at:
            value: float | None = quantile['estimate']['value']['value']
            return value
    return None
