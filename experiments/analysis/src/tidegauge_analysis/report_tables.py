"""The tables of a report, from `analysis.json`."""

from collections.abc import Callable, Sequence

from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.numbers import anchor
from tidegauge_analysis.present import Json, capital, combination, decimals_of, level_of, plain, show
from tidegauge_analysis.tables import Cell, Column, Table

TEXT = True


class Tables:
    """Makes tables with the stamp of the report."""

    def __init__(self, analysis: Json, numbers: dict[str, Json], stamp: str) -> None:
        self.analysis = analysis
        self.numbers = numbers
        self.stamp = stamp

    def table(
        self, name: str, caption: str, columns: Sequence[str | Column], rows: list[list[Cell]], *notes: str
    ) -> Table:
        """A table. Columns given by their title alone have numbers, except the first, which has text."""
        made = [
            column if isinstance(column, Column) else Column(column, text=at == 0) for at, column in enumerate(columns)
        ]
        return Table(name, caption, made, rows, self.stamp, [note for note in notes if note])

    def groups(self, family: Json) -> Table:
        """Each group of a family: its runs, mean, median, spread, and letters."""
        return self.table(
            f'{family["id"]}-groups',
            f'{title_of(family)}: geometric means over deployments, and medians of runs, with their intervals',
            ['Group', 'Deployments', 'Runs', 'Mean', 'Median', 'sd', Column('Letters', text=TEXT)],
            [
                [g['label'], str(g['deployments']), str(g['n']), g['mean'], g['median'], g['sd'], g['letters'] or NONE]
                for g in family['groups']
            ],
            family['letters_note'],
        )

    def pairs(self, family: Json) -> Table | None:
        """Each pair of groups: ratio and verdict."""
        if not family['pairs']:
            return None
        rows: list[list[Cell]] = [
            [
                f'{p["first"]} / {p["second"]}', p['ratio'], p['p'], p['verdict'],
                f'{p["n"]} {p["unit"]}s{", in turns" if p["in_turns"] else ""}', p['further'],
            ]
            for p in family['pairs']
        ]  # fmt: skip
        share = f'{self.analysis["study"]["margin"] * 100:g}'
        return self.table(
            f'{family["id"]}-pairs',
            f'{title_of(family)}: ratios of groups, with intervals',
            [
                'Pair', 'Ratio', Column('p, adjusted', p=True), Column('Verdict', text=TEXT),
                Column('Observations', text=TEXT), 'Further',
            ],
            rows,
            f'Equivalent: within {share} %. Further: of each group, until a decision is likely.',
        )  # fmt: skip

    def drivers(self, rows: Sequence[Json], name: str, what: str) -> Table:
        """Paired differences between drivers. Rows of several metrics have the metric too."""
        metrics = {row['metric'] for row in rows}
        return self.table(
            name,
            f'{what}, in pairs of runs of the same trial',
            [
                'Group', *([Column('Metric', text=TEXT)] if len(metrics) > 1 else []), Column('Compared', text=TEXT),
                Column('Observations', text=TEXT), 'First mean', 'Second mean', 'Difference', 'Ratio',
                Column('p', p=True),
            ],
            [
                [
                    r['label'], *([in_words(r['metric'])] if len(metrics) > 1 else []),
                    f'{r["first"]} {MINUS} {r["second"]}', f'{r["n"]} {r["kind"]}s', r['first_mean'], r['second_mean'],
                    r['difference'], r['ratio'], r['p'],
                ]
                for r in rows
            ],
        )  # fmt: skip

    def mean_slowdowns(self) -> Table:
        """The mean slowdown of each driver, beside published ones."""
        return self.table(
            'mean-slowdowns',
            'Mean slowdown of all groups of a driver, each of which is one observation',
            ['Latencies', Column('Driver', text=TEXT), 'Groups', 'Slowdown', 'Published'],
            [
                [
                    f'{m["words"]} of each run', m['driver'] or NONE, str(m['groups']), m['mean'],
                    self._published_slowdown(m['metric'], {'driver': m['driver']}),
                ]
                for m in self.analysis['second']['means']
            ],
        )  # fmt: skip

    def slowdowns(self, rows: Sequence[Json], name: str) -> Table:
        """The slowdown of each group for one metric, beside published ones."""
        metric = rows[0]['metric']
        ending = metric.rpartition('.')[2]
        published = {'mean': 'slowdown', 'min': 'slowdown.min', 'max': 'slowdown.max'}.get(ending, '')
        return self.table(
            name,
            f'{capital(in_words(metric))}: slowdown of each group',
            ['Group', 'Runs', 'Mean here', 'Mean there', 'Slowdown', 'Published'],
            [
                [
                    r['label'], f'{r["n"]} and {r["second_n"]}', r['mean'], r['second_mean'], r['ratio'],
                    self._published_slowdown(published, r['factors']),
                ]
                for r in rows
            ],
        )  # fmt: skip

    def _published_slowdown(self, metric: str, factors: Json) -> str:
        """Published slowdowns of exactly these levels."""
        wanted = {name: str(level) for name, level in factors.items()}
        found = [
            f'{show(row["published"]["value"], row["unit"])} ({row["note"].split(";")[0]})'
            for row in self.analysis['published']
            if row['metric'] == metric and {name: str(level) for name, level in row['factors'].items()} == wanted
        ]
        return '; '.join(found) or NONE

    def series(self) -> Table | None:
        """Each series of trials: its warm-up, class and dependence."""
        return self._optional(
            'series', 'Series of trials on one loaded table',
            [
                'Series', Column('Metric', text=TEXT), Column('Class', text=TEXT), Column('Reason', text=TEXT),
                'Warm-up, as planned', 'Warm-up by MSER', 'Lag-1 autocorrelation', 'Effective runs',
            ],
            self.analysis['series'],
            lambda s: [
                f'{s["label"]}, block {s["block"]}', in_words(s['metric']), s['shape'] or NONE, s['shape_reason'],
                str(s['fixed_warmup']), s['mser_warmup'], s['lag_one'], s['effective_size'],
            ],
        )  # fmt: skip

    def latencies(self, operation: str) -> Table:
        """Quantiles of the operations of all runs of a group."""
        rows = [row for row in self.analysis['latencies'] if row['operation'] == operation]
        labels = list(dict.fromkeys(q['label'] for row in rows for q in row['quantiles']))
        cells: list[list[Cell]] = []
        for row in rows:
            found = {q['label']: q['estimate'] for q in row['quantiles']}
            cells.append(
                [row['label'], row['operations'], row['failed'], row['mean'], *map(found.get, labels), row['maximum']]
            )
        return self.table(
            f'latencies-{operation.lower()}',
            f'Latencies of {operation}: quantiles of the operations of all runs together, with 95 % intervals',
            ['Group', 'Operations', 'Failed', 'Mean', *labels, 'Maximum'],
            cells,
        )

    def curve(self, curve: Json) -> Table:
        """The points of a curve of latency over throughput."""
        rows: list[list[Cell]] = [
            [
                level_of(p['load']), p['achieved'], p['latency'],
                'overloaded' if curve['overload'] is not None and at >= curve['overload'] else '',
            ]
            for at, p in enumerate(curve['points'])
        ]  # fmt: skip
        by = 'Target (ops/s)' if curve['by'] == 'target' else curve['by'].capitalize()
        return self.table(
            curve['id'],
            f'{curve["label"]}: latency and throughput under load',
            [Column(by), 'Achieved', in_words(curve['latency_metric']), Column('Overload', text=TEXT)],
            rows,
            plain(curve['sentence']['text'], self.numbers),
        )

    def failures(self) -> Table | None:
        """What the failure of a node did."""
        return self._optional(
            'failures', 'Recovery and losses after a killed node',
            [
                'Group', 'Runs', 'Recovered', 'Rate before', 'Recovery', 'Lower rate', 'Longest pause', 'Node down',
                'Failed', 'Failed', 'Records read', 'Stale', 'Lost',
            ],
            self.analysis['failures'],
            lambda f: [
                f['label'], str(f['n']), str(f['recovered']), f['rate_before'], f['recovery'], f['slow'], f['pause'],
                f['down'], f['failed'], f['failed_share'], f['checked'], f['stale'], f['lost'],
            ],
            'Recovery: from the kill to the first second with 90 % of the rate before; 0: the rate was never lower. '
            'Lower rate: seconds below that, together. Longest pause: without a successful operation. Failed: '
            'operations that ended after the kill, as a number over all runs and as a mean share of a run. Records '
            'were read with the consistency level of the run. With a level such as ONE, a copy that was down can '
            'answer before it has an acknowledged write: such a record is stale, if it has the write when all copies '
            'are read. Otherwise it is lost, and counts in each later run on the same table.',
        )  # fmt: skip

    def nodes(self) -> Table | None:
        """What each node used."""
        rows = [(group, node) for group in self.analysis['resources'] for node in group['nodes']]
        return self._optional(
            'nodes', 'Resources of each node, mean over the runs of a group',
            [
                'Group', Column('Node', text=TEXT), Column('Role', text=TEXT), 'Processors', 'Memory', 'Read',
                'Written', 'Received', 'Sent', Column('Source', text=TEXT),
            ],
            rows,
            lambda row: [
                row[0]['label'], row[1]['node'], row[1]['role'],
                *(row[1][field] for field in ('cpu', 'memory', 'read', 'written', 'received', 'sent')),
                row[1]['source'],
            ],
        )  # fmt: skip

    def efficiency(self) -> Table | None:
        """Space, written bytes and energy of each group."""
        sources = {r['energy_source'] for r in self.analysis['resources'] if r['energy_source']}
        return self._optional(
            'efficiency', 'Space, write amplification, client share and energy',
            [
                'Group', 'Runs', 'Stored per record', 'Write amplification', "Client's share of processor time",
                'Energy per operation',
            ],
            self.analysis['resources'],
            lambda r: [
                r['label'], str(r['n']), r['bytes_per_record'], r['write_amplification'], r['client_cpu_share'],
                r['energy_per_operation'],
            ],
            *(f'Energy: {source}. Its bounds are the uncertainty of this source.' for source in sorted(sources)),
        )  # fmt: skip

    def rules(self) -> Table | None:
        """Validity rules over all runs."""
        return self._optional(
            'rules', 'Validity rules over all runs',
            ['Rule', 'Limit', 'Unit', 'Measured in', 'Failed in', 'Worst value'],
            self.analysis['rules'],
            lambda r: [
                r['rule'], _limit(r), r['unit'], str(r['measured']),
                str(r['failed']), r['worst'],
            ],
        )  # fmt: skip

    def sensitivity(self) -> Table | None:
        """Means with and without invalid runs."""
        rows = [(family, group) for family in self.analysis['sensitivity'] for group in family['groups']]
        titles = {family['id']: title_of(family) for family in self.analysis['families']}
        return self._optional(
            'sensitivity', 'Results without and with invalid runs',
            [
                'Family', Column('Group', text=TEXT), 'n valid', 'n all', 'Mean, valid runs', 'Mean, all runs',
            ],
            rows,
            lambda row: [
                titles.get(row[0]['family'], row[0]['family']), row[1]['label'], str(row[1]['n_valid']),
                str(row[1]['n_all']), row[1]['mean_valid'], row[1]['mean_all'],
            ],
        )  # fmt: skip

    def published(self) -> Table | None:
        """Published numbers beside ours."""
        return self._optional(
            'published', 'Published numbers beside these',
            [
                'Source', Column('Case', text=TEXT), Column('Metric', text=TEXT), 'Published', 'Here',
                'Ratio', Column('Remark', text=TEXT),
            ],
            self.analysis['published'],
            lambda r: [
                r['source'], combination(r['factors']),
                ', '.join(part for part in (in_words(r['metric']), r['statistic']) if part),
                r['published'], r['ours'], r['ratio'], '; '.join(part for part in (r['note'], r['flag']) if part),
            ],
        )  # fmt: skip

    def extremes(self) -> Table | None:
        """The lowest and highest published values, and ours, with the groups in which they occur."""
        return self._optional(
            'extremes', 'Lowest and highest values, and where they occur',
            [
                'Workload', Column('Metric', text=TEXT), 'Published', Column('Where', text=TEXT), 'Here',
                Column('Where, here', text=TEXT), Column('Source', text=TEXT),
            ],
            self.analysis['extremes'],
            lambda r: [
                r['condition'], f'{in_words(r["metric"])}, {r["statistic"]}', r['published'], r['published_group'],
                r['ours'], r['group'] or NONE, r['source'],
            ],
            'Here: the mean over the runs of a group, of the group with the lowest or highest mean.',
        )  # fmt: skip

    def claims(self) -> Table | None:
        """Each claim with its verdict."""
        return self._optional(
            'claims', 'Claims of the study and their verdicts',
            [
                'Claim', Column('Check', text=TEXT), Column('Verdict', text=TEXT), Column('Here', text=TEXT),
                Column('Known reason', text=TEXT), 'Further',
            ],
            self.analysis['claims'],
            lambda c: [
                c['text'] if c['source'] is None else f'{c["text"]} ({c["source"]})', c['check'] or NONE, c['verdict'],
                ' '.join(part for part in (plain(c['sentence']['text'], self.numbers), c['reason']) if part),
                c['because'] or '', c['further'],
            ],
        )  # fmt: skip

    def claim_parts(self) -> Table | None:
        """Each comparison of each claim."""
        rows = [(claim, part) for claim in self.analysis['claims'] for part in claim['parts']]
        return self._optional(
            'claim-parts', 'Comparisons of the claims',
            [
                'Claim', Column('Condition', text=TEXT), Column('Comparison', text=TEXT), Column('Verdict', text=TEXT),
                'First mean', 'Second mean', 'Result', Column('Published', text=TEXT), Column('Remark', text=TEXT),
            ],
            rows,
            lambda row: [
                row[0]['id'], row[1]['condition'], row[1]['compared'], row[1]['verdict'], row[1]['first'],
                row[1]['second'], row[1]['result'], plain(row[1]['published']['text'], self.numbers),
                '; '.join(part for part in (row[1]['measure'], row[1]['note']) if part),
            ],
        )  # fmt: skip

    def load_groups(self) -> Table | None:
        """The time of a load by the factors that it depends on."""
        return self._optional(
            'load-groups',
            'Time to load a table, mean over the loads of a group',
            ['Group', 'Loads', 'Records', 'Time', 'Rate'],
            self.analysis['load_groups'],
            lambda r: [r['label'], str(r['n']), r['records'], r['seconds'], r['rate']],
        )

    def overviews(self) -> list[Table]:
        """Means and letters of all groups, with a column for each workload: one table for each metric and driver."""
        alike: dict[tuple[str, str, str], list[Json]] = {}
        for family in self.analysis['families']:
            others = combination({name: level for name, level in family['per'].items() if name != 'workload'})
            if len(family['groups']) > 1 and 'workload' in family['per']:
                alike.setdefault((family.get('part') or '', family['metric'], others), []).append(family)
        return [self._overview(*key, families=families) for key, families in alike.items() if len(families) > 1]

    def _overview(self, part: str, metric: str, others: str, *, families: list[Json]) -> Table:
        labels = list(dict.fromkeys(group['label'] for family in families for group in family['groups']))
        cells: list[list[Cell]] = []
        for label in labels:
            groups = [next((g for g in family['groups'] if g['label'] == label), None) for family in families]
            cells.append([label, *map(_mean_and_letters, groups)])
        words = ', '.join(text for text in (others, part) if text)
        unit = families[0]['unit']
        return self.table(
            anchor('overview', part, metric, others),
            f'{in_words(metric)} ({unit}){f": {words}" if words else ""}. Means with their letters, by workload',
            ['Group', *(f'Workload {family["per"]["workload"]}' for family in families)],
            cells,
            'Letters: groups of one workload that share a letter are not shown to differ. The comparisons have the '
            'intervals, or why there are no letters.',
        )

    def loads(self) -> Table | None:
        """How the tables were loaded."""
        blocks = {row['series']: str(row['block']) for row in self.analysis['series']}
        return self._optional(
            'loads', 'Loads',
            ['Group', Column('Driver', text=TEXT), 'Loaded', 'Restored', 'Records', 'Time', 'Rate'],
            self.analysis['loads'],
            lambda r: [
                f'{r["label"]}, block {blocks.get(r["series"], NONE)}', r['driver'], str(r['loaded']),
                str(r['restored']), r['records'],
                r['seconds'], r['rate'],
            ],
        )  # fmt: skip

    def _optional(
        self,
        name: str,
        caption: str,
        columns: Sequence[str | Column],
        given: Sequence[object],
        cells: Callable[..., list[Cell]],
        *notes: str,
    ) -> Table | None:
        if not given:
            return None
        return self.table(name, caption, columns, [cells(one) for one in given], *notes)


def _mean_and_letters(group: Json | None) -> str:
    if group is None or group['mean']['value']['value'] is None:
        return NONE
    mean = show(group['mean']['value']['value'], decimals=decimals_of(group['mean']))
    return f'{mean} {group["letters"] or ""}'.strip()


MINUS = '\N{MINUS SIGN}'
NONE = '\N{EN DASH}'


def title_of(family: Json) -> str:
    """The title of a family, which has its levels."""
    return str(family['title'])


def _limit(rule: Json) -> str:
    """The limit of a validity rule. The unit has its own column, except that sizes have a prefix."""
    if rule['limit'] is None:
        return 'none'
    return show(rule['limit'], rule['unit'] if rule['unit'] == 'bytes' else '')
