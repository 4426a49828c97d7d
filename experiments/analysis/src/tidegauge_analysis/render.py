"""Writes the report of an experiment: one HTML page, figures and tables, from `analysis.json` and `numbers.json`."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge_analysis import load_plots, plots, sweep_plots
from tidegauge_analysis.drivers import APPLICATION, METHODS
from tidegauge_analysis.figures import Drawing, write_drawings
from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.page import Block, Page, Section, numbers_of, to_html
from tidegauge_analysis.present import Json, capital, combination, level_of, numbers_in, show
from tidegauge_analysis.report_tables import Tables, title_of
from tidegauge_analysis.tables import Cell, Column, Table, write_tables

FIGURES = ('bars', 'boxes', 'drivers', 'series', 'histograms', 'timelines', 'curves', 'sweeps', 'resources')
"""Kinds of figures that an experiment file can name; without any, all are drawn."""

FIRST_ROWS = 8
"""Ratios in the picture of the first screen."""

MOST_ROWS = 30
"""Ratios in the picture that has more of them. It fits a page."""

MOST_FIGURES = 16
"""Figures of a kind. Nobody looks at two hundred, and each takes a second; the tables have all values."""

MOST_COMPARISONS = 64
"""Comparisons with a place on the page. Their tables are files too, as those of all others."""

MOST_PANELS = 24
"""Panels of a figure. The time to lay them out grows with their square."""

FEWEST_TRIALS = 4
"""Trials of a series whose order shows something."""

MOST_ITEMS = 10
"""Longer lists are folded."""

MOST_SENTENCES = 3
"""Pairs of a family in words. The table has all."""


def render(analysis: Json, out: Path, numbers: Json | None = None) -> Path:
    """Write `report.html`, `figures/` and `tables/` into a directory, and return the path of the page.

    :param analysis: the content of `analysis.json`
    :param numbers: the content of `numbers.json`; None: read it from `out`, or show the numbers without formulas
    """
    if numbers is None:
        file = out / 'numbers.json'
        numbers = json.loads(file.read_text(encoding='utf-8')) if file.exists() else None
    report = Report(analysis, numbers or numbers_of(list(numbers_in(analysis))))
    page = report.page()
    out.mkdir(parents=True, exist_ok=True)
    drawings, tables = _contents(page)
    write_drawings(drawings, out / 'figures')
    write_tables(tables, out / 'tables')
    path = out / 'report.html'
    path.write_text(to_html(page), encoding='utf-8')
    return path


def stamp_of(analysis: Json) -> tuple[str, str]:
    """The stamp of quick, partial and invalid results, and its reason. Both are empty for complete results."""
    words, reasons = [], []
    if analysis['study']['quick']:
        words.append('quick')
        reasons.append('Sizes are small, to show that the experiment works. Do not quote the figures.')
    runs = analysis['runs']
    if runs['partial']:
        words.append('partial')
        done, planned = (show(runs[key]['value']) for key in ('done', 'planned'))
        reasons.append(f'Planned runs are missing: {done} runs were done, {planned} are planned.')
    if analysis['invalid_families']:
        words.append('invalid')
        reasons.append('Figures and tables show the invalid runs. They are no result.')
    return (f'{" and ".join(words)} results' if words else ''), ' '.join(reasons)


class Report:
    """Arranges the parts of an analysis on a page."""

    def __init__(self, analysis: Json, numbers: Json) -> None:
        # Without a valid run, the families of the invalid ones are shown, with the stamp.
        self.analysis = {**analysis, 'families': analysis['families'] or analysis['invalid_families']}
        self.numbers = numbers
        self.by_id = {entry['id']: entry for entry in numbers['numbers']}
        self.stamp, self.stamp_reason = stamp_of(analysis)
        self.tables = Tables(self.analysis, self.by_id, self.stamp)
        wanted = [name for name in analysis['study']['figures'] if name in FIGURES]
        self.wanted = set(wanted or FIGURES)
        self.drawn: Counter[str] = Counter()

    def page(self) -> Page:
        """The whole page."""
        study, analysis = self.analysis['study'], self.analysis
        sections = [
            self._all_ratios(), self._claims(), self._drivers(), self._contributions(), self._second(),
            self._comparisons(), self._series(), self._latencies(), self._sweeps(), self._curves(), self._failures(),
            self._loads(), self._resources(), self._validity(), self._published(), self._methods(),
            self._environment(), self._recompute(),
        ]  # fmt: skip
        return Page(
            title=study['title'],
            kind='Report of an experiment',
            name=study['name'],
            stamp=self.stamp,
            stamp_reason=self.stamp_reason,
            question=study['question'] or '',
            answer=[sentence['text'] for sentence in analysis['answer']],
            picture=self._picture(),
            limits=[sentence['text'] for sentence in analysis['limits']],
            summary=[sentence['text'] for sentence in analysis['summary']],
            facts=self._facts(),
            notes=analysis['notes'],
            sections=[section for section in sections if section is not None],
            numbers=self.numbers,
            runs=analysis['run_rows'],
        )

    def _facts(self) -> list[tuple[str, str]]:
        study, runs = self.analysis['study'], self.analysis['runs']
        factors = {**study['hard'], **study['easy']}
        versions = sorted({f'{name} {v}' for found in self.analysis['versions'].values() for name, v in found.items()})
        return [
            *((name, ', '.join(map(level_of, levels))) for name, levels in factors.items() if len(levels) > 1),
            ('Runs', _run_counts(runs)),
            ('Repetitions', f'{_count(study["deployments"], "deployment")}, {_count(study["trials"], "trial")}'),
            *([('Servers', ', '.join(versions))] if versions else []),
            ('Plan', study['plan_hash'][:12]),
        ]

    def _ratios(self) -> tuple[list[Json], str]:
        """The ratios that answer the question, and their title: of claims, or of groups, or of drivers."""
        for rows, title in (self._ratios_of_claims(), self._ratios_of_pairs(), self._ratios_of_drivers()):
            shown = [row for row in rows if row['ratio']['value']['value'] is not None]
            if shown:
                return shown, title
        return [], ''

    def _ratios_of_claims(self) -> tuple[list[Json], str]:
        rows = [
            {
                'label': claim['text'],
                'ratio': claim['parts'][0]['result'] if claim['pooled']['value']['value'] is None else claim['pooled'],
                'verdict': claim['verdict'],
            }
            for claim in self.analysis['claims']
            if claim['parts'] and claim['parts'][0]['measure'] == 'ratio'
        ]
        return rows, 'Claims: the ratio that each is about, with 95 % intervals'

    def _ratios_of_pairs(self) -> tuple[list[Json], str]:
        """Pairs of the first metric. Those with the best group of their family come first."""
        families = [family for family in self.analysis['families'] if family['pairs']]
        metric = families[0]['metric'] if families else ''
        first: list[Json] = []
        others: list[Json] = []
        for family in families:
            best = _best(family)
            for pair in family['pairs'] if family['metric'] == metric else []:
                names = f'{pair["first"]} / {pair["second"]}'
                label = ', '.join(filter(None, [combination(family['per']), names]))
                (first if best in {pair['first'], pair['second']} else others).append({**pair, 'label': label})
        return [*first, *others], f'{capital(in_words(metric))}: ratios of groups'

    def _ratios_of_drivers(self) -> tuple[list[Json], str]:
        drivers = self.analysis['drivers']
        metric = drivers[0]['metric'] if drivers else ''
        rows = [
            {**row, 'label': f'{row["label"]}: {row["first"]} / {row["second"]}'}
            for row in drivers
            if row['metric'] == metric
        ]
        return rows, f'{capital(in_words(metric))}: ratios of drivers'

    def _forest(self, rows: list[Json], name: str, title: str) -> Drawing | None:
        return plots.forest(rows, name, self.stamp, plots.Forest(title, 'first / second (logarithmic)'))

    def _picture(self) -> Drawing | None:
        """The answer: the first ratios."""
        rows, title = self._ratios()
        shown = f', {FIRST_ROWS} of {len(rows)}' if len(rows) > FIRST_ROWS else ''
        return self._forest(rows[:FIRST_ROWS], 'overview', f'{title}{shown}')

    def _all_ratios(self) -> Section | None:
        """The ratios of the first screen with those that have no place there."""
        rows, title = self._ratios()
        if len(rows) <= FIRST_ROWS:
            return None
        shown = f', {MOST_ROWS} of {len(rows)}' if len(rows) > MOST_ROWS else ''
        drawing = self._forest(rows[:MOST_ROWS], 'ratios', f'{title}{shown}')
        return Section('ratios', 'More ratios', [Block(figures=[] if drawing is None else [drawing])])

    def _draw(
        self, kind: str, make: Callable[[list[Json], str, str], Drawing | None], rows: list[Json], name: str
    ) -> list[Drawing]:
        if kind not in self.wanted or self.drawn[kind] == MOST_FIGURES:
            return []
        drawing = make(rows, name, self.stamp)
        if drawing is None:
            return []
        self.drawn[kind] += 1
        return [drawing]

    def _comparisons(self) -> Section | None:
        blocks = []
        there = [family for family in self.analysis['families'] if any(group['n'] for group in family['groups'])]
        absent = [title_of(family) for family in self.analysis['families'] if family not in there]
        for family in there[:MOST_COMPARISONS]:
            figures = [
                *self._draw('bars', plots.bars, [family], f'{family["id"]}-bars'),
                *self._draw('boxes', self._boxes, [family], f'{family["id"]}-boxes'),
            ]
            beside = [self.tables.groups(family)]
            text = [pair['sentence']['text'] for pair in family['pairs'][:MOST_SENTENCES]]
            notes = family['notes']
            blocks.append(Block(title_of(family), family['id'], text, notes, figures=figures, tables=beside))
            pairs = self.tables.pairs(family)
            if pairs is not None:
                title = f'{_count(len(pairs.rows), "pair")} of groups, with verdicts'
                blocks.append(Block(tables=[pairs], folded=title))
        others = there[MOST_COMPARISONS:]
        if others:
            filed = [table for each in others for table in _tables(self.tables.groups(each), self.tables.pairs(each))]
            left_out = f'The page leaves out {_count(len(others), "comparison")}. The folder tables has all.'
            blocks.append(Block(text=[left_out], filed=filed))
        if MOST_FIGURES in self.drawn.values():
            blocks.insert(0, Block(text=[f'There are {MOST_FIGURES} figures of a kind. The tables have all.']))
        if absent:
            blocks.append(Block(text=[f'No run has a value of: {"; ".join(absent)}.']))
        overviews = self.tables.overviews()
        if overviews:
            blocks.insert(0, Block(tables=overviews, folded='Means and letters of all workloads'))
        title = 'Comparisons of invalid runs' if self.analysis['invalid_families'] else 'Comparisons'
        return Section('comparisons', title, blocks) if blocks else None

    def _loads(self) -> Section | None:
        tables = _tables(self.tables.load_groups())
        return Section('loads', 'Loads', [Block(tables=tables)]) if tables else None

    def _boxes(self, families: list[Json], name: str, stamp: str) -> Drawing | None:
        rule = self.analysis['study'].get('boxes')
        return plots.boxes(families, name, stamp, [rule] if rule else list(plots.BOXES))

    def _drivers(self) -> Section | None:
        chosen = self._differences(APPLICATION)
        blocks = []
        for metric in dict.fromkeys(row['metric'] for row in chosen):
            rows = [row for row in chosen if row['metric'] == metric]
            name, title = f'drivers-{metric.replace(".", "-")}', capital(in_words(metric))
            blocks.append(
                Block(
                    title,
                    name,
                    items=[row['sentence']['text'] for row in rows],
                    figures=self._draw_drivers(rows, name),
                    tables=[self.tables.drivers(rows, name, f'{title}: what the application adds to the store')],
                )
            )
        return Section('drivers', 'The raw store beside the application', blocks) if blocks else None

    def _draw_drivers(self, rows: list[Json], name: str) -> list[Drawing]:
        """The first rows. Runs with a failure have a separate figure: their latencies would hide others."""
        failed = [row for row in rows if row['factors'].get('fault', 'none') != 'none']
        others = [row for row in rows if row not in failed]
        parts = [(others, name), (failed, f'{name}-failure')]
        shown = [(part[:MOST_ROWS], of) for part, of in parts if part]
        return [drawing for part, of in shown for drawing in self._draw('drivers', plots.drivers, part, of)]

    def _contributions(self) -> Section | None:
        rows = self._differences(METHODS)
        if not rows:
            return None
        table = self.tables.drivers(rows, 'contributions', 'What the method alone contributes')
        blocks = [Block(tables=[table])]
        for metric, first, second in dict.fromkeys((row['metric'], row['first'], row['second']) for row in rows):
            same = [row for row in rows if (row['metric'], row['first'], row['second']) == (metric, first, second)]
            name = f'contributions-{metric.replace(".", "-")}-{first}-{second}'
            figures = self._draw_drivers(same, name)
            title = f'{capital(in_words(metric))}: {first} beside {second}'
            blocks.append(Block(title, name, items=[row['sentence']['text'] for row in same], figures=figures))
        return Section('contributions', 'What the method alone contributed', blocks)

    def _differences(self, compared: Sequence[tuple[str, str]]) -> list[Json]:
        return [row for row in self.analysis['drivers'] if row['n'] and (row['first'], row['second']) in compared]

    def _second(self) -> Section | None:
        second = self.analysis['second']
        if second is None:
            return None
        text = (
            f'Slowdown is the mean time of an operation here in percent of that in the results {second["name"]} of a '
            "second machine, with Fieller's interval: above 100 %, this machine is slower. Runs on two machines are "
            'not paired.'
        )
        items = [f'{each} (A: these results, B: the second machine)' for each in second['differences']]
        blocks = [Block(text=[text], items=items or ['The machine, the versions and the repetitions are the same.'])]
        blocks.append(Block(tables=[self.tables.mean_slowdowns()]))
        for metric in dict.fromkeys(row['metric'] for row in second['slowdowns']):
            rows = [row for row in second['slowdowns'] if row['metric'] == metric]
            name, title = f'slowdown-{metric.replace(".", "-")}', capital(in_words(metric))
            figures = self._draw('bars', self._slowdown(title), rows, name)
            blocks.append(Block(title, name, figures=figures, tables=[self.tables.slowdowns(rows, name)]))
        return Section('second', 'Slowdown against a second machine', blocks)

    def _slowdown(self, title: str) -> Callable[[list[Json], str, str], Drawing | None]:
        words = plots.Forest(
            f'{title}: slowdown against a second machine', 'time here (% of that there, logarithmic)', 100.0
        )
        return lambda rows, name, stamp: plots.forest(rows, name, stamp, words)

    def _series(self) -> Section | None:
        table = self.tables.series()
        if table is None:
            return None
        figures = []
        for metric in dict.fromkeys(one['metric'] for one in self.analysis['series']):
            rows = [
                one
                for one in self.analysis['series']
                if one['metric'] == metric and len(one['trials']) >= FEWEST_TRIALS
            ]
            name = f'series-{metric.replace(".", "-")}'
            figures += self._draw('series', plots.trial_series, rows[:MOST_PANELS], name)
        text = (
            f'Each panel shows the trials of one loaded table in order, of the first {MOST_PANELS} tables with '
            f'{FEWEST_TRIALS} trials or more. Shaded trials are the warm-up that the experiment file declares; they '
            'are archived and not analysed. The dashed line is the end of the warm-up by the rule MSER, for '
            'information.'
        )
        return Section(
            'series',
            'Trials in order',
            [Block(text=[text], figures=figures), Block(tables=[table], folded='Series with their classes')],
        )

    def _latencies(self) -> Section | None:
        blocks = []
        for operation in dict.fromkeys(row['operation'] for row in self.analysis['latencies']):
            rows = [row for row in self.analysis['latencies'] if row['operation'] == operation][:MOST_PANELS]
            name = f'latencies-{operation.lower()}'
            figures = [
                *self._draw('histograms', load_plots.histograms, rows, f'{name}-histogram'),
                *self._draw('timelines', load_plots.timelines, rows, f'{name}-timeline'),
            ]
            blocks.append(Block(operation, name, figures=figures, tables=[self.tables.latencies(operation)]))
        return Section('latencies', 'Latencies of operations', blocks) if blocks else None

    def _curves(self) -> Section | None:
        given = self.analysis['curves']
        if not given:
            return None
        figures = sweep_plots.curve_figures(given, 'curves', self.stamp) if 'curves' in self.wanted else []
        items = [curve['sentence']['text'] for curve in given]
        block = Block(items=items, figures=figures, tables=[self.tables.curve(curve) for curve in given])
        return Section('curves', 'Latency and throughput under load', [block])

    def _sweeps(self) -> Section | None:
        wanted = 'sweeps' in self.wanted
        figures = sweep_plots.sweeps(self.analysis['families'], 'sweep', self.stamp) if wanted else []
        if not figures:
            return None
        text = 'Means with their intervals over the levels of the factor that varies. The comparisons have the values.'
        return Section('sweeps', 'Sweeps of one factor', [Block(text=[text], figures=figures)])

    def _failures(self) -> Section | None:
        table = self.tables.failures()
        if table is None:
            return None
        text = (
            'A node of the store was killed when half of the operations of a run had ended, and started again after '
            'ten seconds. Each rate is that of a whole second, compared with the rate before the failure in the same '
            'run. After the restart, written records were read with the settings of the run.'
        )
        items = [row['sentence']['text'] for row in self.analysis['failures']]
        return Section('failures', 'A killed node', [Block(text=[text], items=items, tables=[table])])

    def _resources(self) -> Section | None:
        nodes, efficiency = self.tables.nodes(), self.tables.efficiency()
        if nodes is None:
            return None
        wanted = 'resources' in self.wanted
        shown = self.analysis['resources'][:MOST_PANELS]
        figures = load_plots.resources(shown, 'resources', self.stamp) if wanted else []
        return Section(
            'resources',
            'Resources',
            [
                Block(figures=figures),
                Block(tables=_tables(efficiency)),
                Block(tables=[nodes], folded='Resources of each node'),
            ],
        )

    def _validity(self) -> Section:
        runs = self.analysis['runs']
        counts = ', '.join(
            f'{label} {_ref(runs[key])}'
            for key, label in (
                ('planned', 'planned'), ('done', 'done'), ('analysed', 'analysed'), ('warmup', 'warm-up'),
                ('invalid', 'invalid'), ('repeated', 'invalid and repeated'), ('superseded', 'superseded'),
                ('unfinished', 'unfinished'),
            )
        )  # fmt: skip
        bad = [row for row in self.analysis['run_rows'] if row['reasons']]
        invalid = [f'{row["run"]} ({row["status"]}): {"; ".join(row["reasons"])}' for row in bad]
        none_valid = bool(self.analysis['invalid_families'])
        changes = [change for one in self.analysis['sensitivity'] if not none_valid for change in one['changes']]
        text = [f'Runs: {counts}.']
        if not bad:
            text.append('All runs are valid.')
        elif none_valid:
            text.append('No run is valid. The comparisons show the invalid runs, with their stamp.')
        elif not changes:
            text.append('No conclusion changes when the invalid runs are included.')
        blocks = [Block(text=text, items=runs['missing'])]
        if invalid:
            folded = _count(len(invalid), 'run') if len(invalid) > MOST_ITEMS else ''
            blocks.append(Block('Invalid runs', 'invalid', items=invalid, folded=folded))
        if changes:
            blocks.append(Block('What changes with the invalid runs', 'changes', items=changes))
        blocks.append(Block(tables=_tables(self.tables.sensitivity(), self.tables.rules())))
        failed = [
            [one['run'], check['rule'], check['measured'], _limit(check['limit']), check['note'] or '']
            for one in self.analysis['validity']
            for check in one['checks']
            if not check['ok']
        ]
        if failed:
            columns: list[str | Column] = [
                'Run',
                Column('Rule', text=True),
                'Measured',
                'Limit',
                Column('Note', text=True),
            ]
            table = self.tables.table('failed-checks', 'Checks that failed', columns, failed)
            blocks.append(Block(tables=[table]))
        blocks.append(Block(tables=[self._runs()], folded='All runs in the archive, with their files'))
        return Section('validity', 'Validity', blocks)

    def _runs(self) -> Table:
        rows: list[list[Cell]] = [
            [
                row['run'], row['status'], combination(row['factors']), str(row['trial']), str(row['attempt']),
                row['csv'], row['csv_sha256'], row['json'], row['json_sha256'],
            ]
            for row in self.analysis['run_rows']
        ]  # fmt: skip
        columns: list[str | Column] = [
            'Run', Column('Status', text=True), Column('Factors', text=True), 'Trial', 'Attempt',
            Column('Operations', text=True, link='../'), Column('SHA-256 of operations', text=True),
            Column('Facts', text=True, link='../'),            Column('SHA-256 of facts', text=True),
        ]  # fmt: skip
        table = self.tables.table('runs', 'Runs in the archive and their files', columns, rows)
        return replace(table, anchors=[f'run-{row["run"]}' for row in self.analysis['run_rows']])

    def _published(self) -> Section | None:
        tables = _tables(self.tables.extremes(), self.tables.published())
        return Section('published', 'Published numbers', [Block(tables=tables)]) if tables else None

    def _claims(self) -> Section | None:
        table = self.tables.claims()
        if table is None:
            return None
        counts: dict[str, int] = {}
        for claim in self.analysis['claims']:
            counts[claim['verdict']] = counts.get(claim['verdict'], 0) + 1
        shown = ', '.join(f'{count} {name}' for name, count in counts.items())
        text = (
            f'Of {len(self.analysis["claims"])} claims: {shown}. A claim agrees when each of its comparisons '
            'shows it, or none contradicts it and all together show it; it disagrees when one shows the contrary. '
            '"No significant difference" in the original is absence of evidence; here it needs evidence of equivalence.'
        )
        parts = self.tables.claim_parts()
        folded = [Block(tables=[parts], folded=f'{len(parts.rows)} comparisons of the claims')] if parts else []
        return Section('claims', 'Claims of the study', [Block(text=[text], tables=[table]), *folded])

    def _methods(self) -> Section:
        return Section('methods', 'Methods', [Block(text=[one['text'] for one in self.analysis['methods']])])

    def _environment(self) -> Section:
        study, time = self.analysis['study'], self.analysis['time']
        facts = [(name, level_of(value)) for name, value in self.analysis['environment'].items()]
        fixed = [(name, level_of(value)) for name, value in study['fixed'].items()]
        state = ', '.join(f'{workload}: {state}' for workload, state in study['state'].items())
        plan = [
            ('Seed', str(study['seed'])),
            ('Plan, SHA-256', study['plan_hash']),
            *([('Tables', state)] if state else []),
            *(('Left out', f'{combination(one["where"])}: {one["because"]}') for one in study['exclude']),
        ]
        servers = Counter(
            ', '.join(f'{name} {version}' for name, version in versions.items()) or '\N{EN DASH}'
            for versions in self.analysis['versions'].values()
        )
        used = [(versions, _count(number, 'deployment')) for versions, number in servers.items()]
        loads = self.tables.loads()
        took = (
            f'The runs took {_ref(time["runs"])}, the loads {_ref(time["loads"])}, and the deployments '
            f'{_ref(time["deployments"])} from start to end.'
        )
        return Section(
            'environment',
            'Environment',
            [
                Block('Machine', 'machine', facts=facts),
                Block('Servers', 'servers', facts=used),
                Block('Fixed levels', 'fixed', facts=fixed),
                Block('Plan', 'plan', facts=plan),
                Block('Time', 'time', text=[took]),
                *([Block(tables=[loads], folded='Loads of tables')] if loads else []),
            ],
        )  # fmt: skip

    def _recompute(self) -> Section:
        files = [(path, sha256) for path, sha256 in (self.numbers.get('files') or self.analysis['files']).items()]
        text = (
            'The program report/recompute.py rebuilds every number of this page from the raw files. It is one file, '
            'and needs Python 3.11 and nothing else. It fails if a number or a file differs. In the results directory:'
        )
        blocks = [Block(text=[text], code='python3 report/recompute.py .')]
        if files:
            rows: list[list[Cell]] = [[path, sha256] for path, sha256 in sorted(files)]
            columns: list[str | Column] = ['File', Column('SHA-256', text=True)]
            table = self.tables.table('files', 'Files that the numbers rest on', columns, rows)
            blocks.append(Block(tables=[table], folded=f'{len(files)} files with their checksums'))
        return Section('recompute', 'How to recompute', blocks)


def _best(family: Json) -> str:
    """The label of the group with the best mean; empty: no group has one."""
    there = [group for group in family['groups'] if group['mean']['value']['value'] is not None]
    there.sort(key=lambda group: float(group['mean']['value']['value']), reverse=family['higher_is_better'])
    return str(there[0]['label']) if there else ''


def _run_counts(runs: Json) -> str:
    parts = [('analysed', 'analysed'), ('warmup', 'warm-up'), ('invalid', 'invalid')]
    shown = ', '.join(f'{show(runs[key]["value"])} {label}' for key, label in parts)
    return f'{shown}; {show(runs["planned"]["value"])} planned'


def _ref(number: Json) -> str:
    """A placeholder for a number, or its absence."""
    return f'{{{number["id"]}}}' if number['id'] else '\N{EN DASH}'


def _limit(limit: float | None) -> str:
    return 'none' if limit is None else f'{limit:g}'


def _count(number: int, what: str) -> str:
    return f'{number} {what}' if number == 1 else f'{number} {what}s'


def _tables(*given: Table | None) -> list[Table]:
    return [table for table in given if table is not None]


def _contents(page: Page) -> tuple[list[Drawing], list[Table]]:
    """All figures and tables of a page."""
    blocks: Iterable[Block] = [block for section in page.sections for block in section.blocks]
    drawings = [drawing for block in blocks for drawing in block.figures]
    if page.picture is not None:
        drawings.append(page.picture)
    return drawings, [table for block in blocks for table in [*block.tables, *block.filed]]
