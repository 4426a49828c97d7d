"""Evidence of the validity rules, and what changes when invalid runs are included."""

from collections.abc import Sequence

from tidegauge_analysis.archive import Archive, Json, Run, Status, analysed
from tidegauge_analysis.document import CheckRow, Family, Number, RuleSummary, RunChecks, Sensitivity, SensitivityGroup
from tidegauge_analysis.numbers import Ledger, missing

COUNTED = frozenset({Status.ANALYSED, Status.WARM_UP, Status.INVALID, Status.REPEATED})


def run_checks(archive: Archive, ledger: Ledger) -> list[RunChecks]:
    """List the checks of every run of a complete series."""
    return [
        RunChecks(run.name, run.valid, [_row(run, index, ledger) for index in range(len(run.document['checks']))])
        for run in archive.runs
        if run.status in COUNTED
    ]


def _row(run: Run, index: int, ledger: Ledger) -> CheckRow:
    check: Json = run.document['checks'][index]
    measured = ledger.add(
        check['measured'],
        str(check['unit']),
        'field',
        str(check.get('note') or 'it was not measured'),
        file=f'runs/{run.name}.json',
        path=['checks', index, 'measured'],
    )
    return CheckRow(str(check['rule']), measured, check['limit'], bool(check['ok']), check.get('note'))


def reasons(run: Run) -> list[str]:
    """Explain why a run is invalid."""
    found = []
    for check in run.document['checks']:
        if not check['ok']:
            limit = '' if check['limit'] is None else f', limit {check["limit"]:g}'
            value = 'not measured' if check['measured'] is None else f'{check["measured"]:g} {check["unit"]}'.strip()
            note = f' ({check["note"]})' if check.get('note') else ''
            found.append(f'{check["rule"]}: {value}{limit}{note}')
    if not found and not run.document['valid']:
        found.append('the document of the run calls it invalid, without a check that failed')
    return found


def rule_summaries(rows: Sequence[RunChecks]) -> list[RuleSummary]:
    """Summarise each rule over all runs."""
    by_rule: dict[str, list[CheckRow]] = {}
    for row in rows:
        for check in row.checks:
            by_rule.setdefault(check.rule, []).append(check)
    found = []
    for rule, checks in by_rule.items():
        measured = [check for check in checks if check.measured.value is not None]
        found.append(
            RuleSummary(
                rule=rule,
                limit=next((check.limit for check in checks if check.limit is not None), None),
                unit=checks[0].measured.unit,
                measured=len(measured),
                failed=sum(not check.ok for check in checks),
                worst=_worst(rule, measured),
            )
        )
    return found


def _worst(rule: str, measured: list[CheckRow]) -> Number:
    if not measured:
        return missing('', 'it was not measured in any run')
    # The share of the target rate is the only rule whose limit is a least value.
    sign = -1 if rule == 'target' else 1
    return max((check.measured for check in measured), key=lambda number: sign * (number.value or 0.0))


def sensitivity(archive: Archive, valid: Sequence[Family], every: Sequence[Family]) -> list[Sensitivity]:
    """Compare the families with and without invalid runs.

    :param every: the families with invalid runs included
    """
    if len(analysed(archive.runs)) == len(analysed(archive.runs, with_invalid=True)):
        return []
    known = {family.id: family for family in valid}
    return [_compare(known.get(family.id), family) for family in every]


def _compare(valid: Family | None, every: Family) -> Sensitivity:
    groups = {group.label: group for group in valid.groups} if valid else {}
    rows, changes = [], []
    for group in every.groups:
        own = groups.get(group.label)
        none = missing(every.unit, 'all runs of the group are invalid')
        rows.append(
            SensitivityGroup(
                label=group.label,
                n_valid=own.n if own else 0,
                n_all=group.n,
                mean_valid=own.mean if own else type(group.mean)(none, none, none, group.mean.confidence),
                mean_all=group.mean,
            )
        )
        if own is None:
            changes.append(f'{group.label}: all its runs are invalid')
    verdicts = {(pair.first, pair.second): pair.verdict for pair in valid.pairs} if valid else {}
    for pair in every.pairs:
        before = verdicts.get((pair.first, pair.second))
        if before is not None and before != pair.verdict:
            changes.append(f'{pair.first} against {pair.second}: {before} becomes {pair.verdict}')
    return Sensitivity(every.id, rows, changes)
