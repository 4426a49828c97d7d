import re
import subprocess
import sys
from pathlib import Path

import pytest

from results import Truth, write_results
from tidegauge_analysis.answer import no_valid_run
from tidegauge_analysis.document import CheckRow, Number, RuleSummary, RunChecks, Sentence
from tidegauge_analysis.numbers import Ledger
from tidegauge_analysis.present import plain
from tidegauge_analysis.report import analyse, write_report

INVALID = {
    (f'd{d}s1', trial, driver, n): 'foreignCpu'
    for d in (1, 2)
    for trial in (1, 2, 3)
    for driver in ('raw', 'app')
    for n in (1, 2)
}
"""Each run of a study with three trials, and its repetition."""


def texts(sentences: list[Sentence], ledger: Ledger) -> list[str]:
    entries = {entry['id']: entry for entry in ledger.entries}
    return [plain(sentence.text, entries).replace('\N{NO-BREAK SPACE}', ' ') for sentence in sentences]


def answer_of(path: Path, truth: Truth) -> list[str]:
    analysis, ledger = analyse(write_results(path, truth))
    return texts(analysis.answer, ledger)


def limits_of(path: Path, truth: Truth) -> list[str]:
    analysis, ledger = analyse(write_results(path, truth))
    return texts(analysis.limits, ledger)


def test_the_answer_has_two_ratios_with_the_digits_of_their_intervals(tmp_path: Path) -> None:
    truth = Truth(trials=21, operations=400, between_trials=0.01, paired=True, metrics=['throughput', 'read.mean'])
    [best, application] = answer_of(tmp_path / 'results', truth)
    ratio = r'\d\.\d+'
    interval = rf'\({ratio} to {ratio}\)'
    assert re.fullmatch(
        rf'Workload a, raw: postgres has 0\.\d+ times the throughput of sqlite {interval}; '
        '2 of 2 conditions show a difference in this direction\\.',
        best,
    ), best
    assert re.fullmatch(
        rf'Mean read latency: the application takes {ratio} times as long as the raw store {interval} for postgres, '
        rf'the least, and {ratio} times {interval} for sqlite, the most\.',
        application,
    ), application


def test_a_latency_takes_times_as_long_in_the_order_of_the_pair(tmp_path: Path) -> None:
    truth = Truth(trials=21, between_trials=0.01, paired=True, metrics=['read.mean'], easy={'driver': ['raw']}, per=[])
    analysis, ledger = analyse(write_results(tmp_path / 'results', truth))
    [pair] = analysis.families[0].pairs
    assert analysis.answer[0].text == (
        f'Mean read latency: postgres takes {{{pair.ratio.value.id}}} times as long as sqlite '
        f'({{{pair.ratio.low.id}!}} to {{{pair.ratio.high.id}!}}).'
    )
    assert pair.ratio.value.value == pytest.approx(2.0, rel=0.05)
    assert len(texts(analysis.answer, ledger)) == 2


def test_an_answer_without_a_verdict_has_its_reason(tmp_path: Path) -> None:
    found = answer_of(tmp_path / 'results', Truth(metrics=['all.mean'], easy={'driver': ['raw']}, per=[]))
    assert found[0].endswith(
        'times as long as sqlite, without an interval: no verdict, because too few deployments show how much they '
        'differ.'
    )


def test_results_without_any_run_have_no_answer(tmp_path: Path) -> None:
    found = answer_of(tmp_path / 'results', Truth(trials=2, warmup=2))
    assert found == ['There is no result yet: no valid run has been analysed.']


def test_limits_name_what_took_turns_and_what_did_not(tmp_path: Path) -> None:
    assert limits_of(tmp_path / 'results', Truth(trials=2)) == [
        (
            'Each combination was deployed once: what took turns holds for these deployments, and nothing else has a '
            'verdict.'
        ),
        'Paired: levels of driver took turns in slices of their runs.',
        'Not paired: store, whose levels were measured one after the other.',
    ]


@pytest.mark.parametrize(
    ('stores', 'text'),
    [
        (
            ['postgres'],
            (
                r'Control: measured a second time in turns, the raw store has \S+ \(\S+ to \S+\) times its own mean '
                r'latency\.'
            ),
        ),
        (
            ['postgres', 'sqlite'],
            (
                r'Control: of 2 comparisons of the raw store with itself, \d include no difference; the farthest, '
                r'(postgres|sqlite), has \S+ \(\S+ to \S+\) times its own mean latency\.'
            ),
        ),
    ],
)
def test_limits_have_the_result_of_the_control(tmp_path: Path, stores: list[str], text: str) -> None:
    truth = Truth(
        hard={'store': stores},
        easy={'driver': ['raw', 'raw-again']},
        overhead=0.0,
        metrics=['all.mean'],
        per=['driver'],
    )
    found = limits_of(tmp_path / 'results', truth)[-1]
    assert re.fullmatch(text, found), found


def test_without_a_valid_run_the_page_has_the_rule_and_the_invalid_runs(tmp_path: Path) -> None:
    results = write_results(tmp_path / 'results', Truth(trials=3, invalid=INVALID, figures=['bars']))
    analysis, ledger = analyse(results)
    assert texts(analysis.answer, ledger) == [
        (
            'No run is valid, so there is no answer: foreignCpu failed in 24 of 24 runs, at worst with 120.5 ms, where '
            'the limit is 50 ms.'
        ),
        (
            'Wait until no other work runs on the machine, and run the study again, or change valid: foreignCpu in its '
            'file.'
        ),
    ]
    # Others that read the families find no result.
    assert analysis.families == []
    assert {group.n for family in analysis.invalid_families for group in family.groups} == {2}
    page = write_report(results).read_text(encoding='utf-8')
    assert 'Comparisons of invalid runs' in page
    for family in analysis.invalid_families:
        file = results / 'report' / 'tables' / f'{family.id}-groups.md'
        assert 'invalid results' in file.read_text(encoding='utf-8')
    program = results / 'report' / 'recompute.py'
    ran = subprocess.run(  # noqa: S603
        [sys.executable, '-I', '-S', str(program), str(results)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.endswith(' 0 differences\n'), ran.stdout


def test_results_with_a_valid_run_show_no_invalid_one_as_a_result(tmp_path: Path) -> None:
    invalid = {key: rule for key, rule in INVALID.items() if key[:3] != ('d1s1', 2, 'raw')}
    analysis, _ = analyse(write_results(tmp_path / 'results', Truth(trials=3, invalid=invalid)))
    assert analysis.invalid_families == []
    assert not analysis.answer[0].text.startswith('No run is valid')


@pytest.mark.parametrize(
    ('rule', 'todo'),
    [
        ('driver', 'Remove the cause, which the section Validity has, and run the study again.'),
        (
            'errors',
            (
                'Remove the cause, which the section Validity has, and run the study again, or change valid: errors in '
                'its file.'
            ),
        ),
    ],
)
def test_what_to_do_depends_on_the_rule(rule: str, todo: str) -> None:
    ledger = Ledger()
    measured = ledger.add(7, 'operations', 'field', file='runs/a.json', path=['checks', 0, 'measured'])
    partners = RuleSummary('partners', 0, 'invalid runs', 2, 2, Number('n9', 1.0, 'invalid runs'))
    checks = [RunChecks('a', valid=False, checks=[CheckRow(rule, measured, 0, ok=False, note=None)])]
    found = no_valid_run([partners, RuleSummary(rule, 0, 'operations', 1, 1, measured)], checks, ledger)
    assert texts(found, ledger) == [
        (
            f'No run is valid, so there is no answer: {rule} failed in 1 of 1 runs, at worst with 7 operations, '
            'where the limit is 0 operations.'
        ),
        todo,
    ]
