import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from results import Truth, write_results
from tidegauge_analysis.document import to_json
from tidegauge_analysis.report import analyse, write_report

Json = dict[str, Any]

STORES = ['cassandra', 'hbase', 'mariadb']
LATENCY = {'cassandra': 1000.0, 'hbase': 2000.0, 'mariadb': 1002.0}


def claim(name: str, metric: str, test: Json, **where: list[Any]) -> Json:
    """A claim as the plan has it, after its check was parsed."""
    parsed = {'metric': metric, 'test': test, 'where': where}
    text = f'The claim {name}.'
    return {
        'id': name, 'text': text, 'source': None, 'check': f'{metric}: …', 'parsed': parsed, 'notRun': None,
        'because': None,
    }  # fmt: skip


def order(*sides: list[Json], relation: str = '>') -> Json:
    return {'kind': 'order', 'sides': list(sides), 'relations': [relation] * (len(sides) - 1)}


def trend(shape: str, factor: str) -> Json:
    return {'kind': 'trend', 'shape': shape, 'factor': factor}


CASSANDRA, HBASE, MARIADB, CITUS = ([{'store': name}] for name in ('cassandra', 'hbase', 'mariadb', 'citus'))


def ratio(low: float, high: float) -> Json:
    return {'kind': 'ratio', 'sides': [CASSANDRA, HBASE], 'low': low, 'high': high}


def verdicts(path: Path, truth: Truth) -> dict[str, Json]:
    document = to_json(analyse(write_results(path, truth))[0])
    return {each['id']: each for each in document['claims']}


def stores(*claims: Json, **changes: Any) -> Truth:  # noqa: ANN401
    fixed: dict[str, Any] = {
        'operations': 200,
        'trials': 13,
        'between_trials': 0.01,
        'metrics': ['read.mean'],
        'paired': True,
        **changes,
    }
    return Truth(hard={'store': STORES}, latency=LATENCY, claims=list(claims), **fixed)


def test_orders_extremes_ratios_and_bounds_are_judged_by_intervals(tmp_path: Path) -> None:
    found = verdicts(
        tmp_path / 'results',
        stores(
            claim('true', 'throughput', order(CASSANDRA, HBASE)),
            claim('false', 'throughput', order(HBASE, CASSANDRA)),
            claim('equal', 'read.mean', order(CASSANDRA, MARIADB, relation='=')),
            claim('equal-is-not-above', 'read.mean', order(MARIADB, CASSANDRA)),
            claim('chain', 'read.mean', order(HBASE, [*CASSANDRA, *MARIADB])),
            claim('lowest', 'throughput', {'kind': 'extreme', 'side': HBASE, 'extreme': 'lowest'}),
            claim('highest', 'throughput', {'kind': 'extreme', 'side': HBASE, 'extreme': 'highest'}),
            claim('ratio', 'read.mean', ratio(0.4, 0.6)),
            claim('other-ratio', 'read.mean', ratio(1.5, 2.5)),
            claim('below', 'read.mean', {'kind': 'bound', 'relation': '<', 'value': 3000.0, 'unit': 'us'}),
            claim('bound', 'read.mean', {'kind': 'bound', 'relation': '<', 'value': 1.5, 'unit': 'ms'}),
        ),
    )  # fmt: skip
    assert {name: each['verdict'] for name, each in found.items()} == {
        'true': 'agrees', 'false': 'disagrees', 'equal': 'agrees', 'equal-is-not-above': 'disagrees',
        'chain': 'agrees', 'lowest': 'agrees', 'highest': 'disagrees', 'ratio': 'agrees',
        'other-ratio': 'disagrees', 'below': 'agrees', 'bound': 'disagrees',
    }  # fmt: skip
    part = found['ratio']['parts'][0]
    assert part['result']['value']['value'] == pytest.approx(0.5, rel=0.02)
    # Both drivers were run, and the publication measured the database.
    assert len(found['true']['parts']) == 1
    assert found['true']['parts'][0]['first']['value']['value'] == pytest.approx(1000, rel=0.02)


def test_what_is_absent_is_not_run_and_says_why(tmp_path: Path) -> None:
    truth = stores(
        claim('no-store', 'throughput', order(CASSANDRA, CITUS)),
        claim('no-level', 'throughput', order(CASSANDRA, HBASE), rf=[2]),
        claim('no-trend', 'throughput', trend('rises', 'rf')),
        claim('one-of-two', 'throughput', order(CASSANDRA, [*HBASE, *CITUS])),
        {**claim('cannot', 'throughput', {}), 'parsed': None, 'check': None, 'notRun': 'no meter'},
        trials=4,
    )
    found = verdicts(tmp_path / 'results', truth)
    assert {name: each['verdict'] for name, each in found.items()} == {
        'no-store': 'not run', 'no-level': 'not run', 'no-trend': 'not run', 'one-of-two': 'agrees',
        'cannot': 'not run',
    }  # fmt: skip
    assert found['no-store']['reason'] == 'store citus is not in this study'
    assert found['no-level']['reason'] == 'rf 2 is not in this study'
    assert found['no-trend']['reason'] == 'this study has no runs that differ in rf only'
    assert found['one-of-two']['reason'] == 'store citus is not in this study'
    assert found['cannot']['reason'] == 'no meter'


def test_noise_leaves_a_claim_undecided_with_the_runs_that_would_decide(tmp_path: Path) -> None:
    truth = stores(claim('noisy', 'read.mean', order(MARIADB, CASSANDRA)), between_trials=0.2, trials=5)
    noisy = verdicts(tmp_path / 'results', truth)['noisy']
    assert noisy['verdict'] == 'undecided'
    assert noisy['further']['value'] > 10


def threads(effect: dict[int, float], *claims: Json) -> Truth:
    return Truth(
        hard={'store': ['cassandra']}, easy={'workload': ['a'], 'threads': list(effect), 'driver': ['raw']},
        latency=LATENCY, claims=list(claims), trials=11, paired=True, operations=800, between_trials=0.005,
        metrics=['read.mean'], figures=['sweeps'],
        effect=lambda factors: effect[factors['threads']],
    )  # fmt: skip


@pytest.mark.parametrize(
    ('effect', 'holds'),
    [
        ({1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}, {'rises'}),
        ({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}, {'falls'}),
        ({1: 1.0, 2: 1.0, 4: 1.0}, {'same'}),
        ({1: 1.0, 2: 3.0, 4: 2.0}, {'peaks'}),
        ({1: 1.0, 2: 2.0, 4: 2.0}, {'rises', 'levels-off'}),
    ],
)
def test_shapes_along_a_factor(effect: dict[int, float], holds: set[str], tmp_path: Path) -> None:
    shapes = ['rises', 'falls', 'same', 'peaks', 'levels-off']
    truth = threads(effect, *(claim(shape, 'read.mean', trend(shape, 'threads')) for shape in shapes))
    found = verdicts(tmp_path / 'results', truth)
    assert {name for name, each in found.items() if each['verdict'] == 'agrees'} == holds
    assert {name for name, each in found.items() if each['verdict'] == 'disagrees'} == {*shapes} - holds


def test_the_trends_of_a_claim_show_together_how_much_one_varies(tmp_path: Path) -> None:
    for workloads, priors in (('a', 0), ('abcdf', 2)):
        truth = Truth(
            hard={'store': ['cassandra']}, easy={'workload': [*workloads], 'threads': [1, 4], 'driver': ['raw']},
            latency={'cassandra': 1000.0}, deployments=3, trials=2, operations=50, between_trials=0.05,
            metrics=['read.mean'], claims=[claim('rises', 'read.mean', trend('rises', 'threads'))], seed=3,
        )  # fmt: skip
        _, ledger = analyse(write_results(tmp_path / workloads, truth))
        assert sum(entry['formula'] == 'prior_of_exponents' for entry in ledger.entries) == priors


def test_a_claim_between_stores_that_took_no_turns_needs_three_deployments(tmp_path: Path) -> None:
    one = claim('stores', 'read.mean', order(HBASE, CASSANDRA))
    alone = verdicts(tmp_path / 'one', stores(one, paired=False))['stores']
    assert alone['verdict'] == 'undecided'
    assert 'nothing shows how much deployments differ' in alone['parts'][0]['note']
    three = verdicts(tmp_path / 'three', stores(one, paired=False, deployments=3, trials=5, between_deployments=0.05))
    assert three['stores']['verdict'] == 'agrees'
    assert three['stores']['parts'][0]['result']['low']['value'] > 1


def test_luck_of_deployments_is_no_difference(tmp_path: Path) -> None:
    """Two stores with the same latency: many trials do not make the luck of three deployments a difference."""
    claims = [claim('stores', 'read.mean', order(CASSANDRA, MARIADB))]
    truth = stores(
        *claims, paired=False, deployments=3, trials=20, between_deployments=0.1, between_trials=0.02, seed=4
    )
    assert verdicts(tmp_path / 'results', truth)['stores']['verdict'] != 'agrees'


def test_comparisons_under_many_conditions_are_pooled(tmp_path: Path) -> None:
    levels = list(range(1, 9))
    truth = Truth(
        hard={'store': ['cassandra', 'mariadb']}, easy={'workload': ['a'], 'threads': levels, 'driver': ['raw']},
        latency={'cassandra': 1040.0, 'mariadb': 1000.0}, trials=4, operations=200, between_trials=0.03, paired=True,
        metrics=['read.mean'], claims=[claim('slower', 'read.mean', order(CASSANDRA, MARIADB))], margin=0.01, seed=1,
    )  # fmt: skip
    found = verdicts(tmp_path / 'results', truth)['slower']
    assert len(found['parts']) == 8
    # Not each condition shows it, and all together do.
    assert {part['verdict'] for part in found['parts']} >= {'undecided'}
    assert found['verdict'] == 'agrees'
    assert found['pooled']['low']['value'] < 1.04 < found['pooled']['high']['value']
    assert found['heterogeneity']['value'] >= 0
    assert found['shown'].startswith('Of 8 comparisons it agrees in ')
    assert 'pooled ratio 1.0' in found['shown']


def test_the_report_shows_claims_and_recompute_rebuilds_their_numbers(tmp_path: Path) -> None:
    truth = threads(
        {1: 1.0, 2: 2.0, 4: 4.0},
        claim('rises', 'read.mean', trend('rises', 'threads')),
        claim('cpu', 'cpu', trend('rises', 'threads')),
        claim('memory', 'memory', trend('same', 'threads')),
        claim('power', 'power', trend('rises', 'threads')),
        claim('load', 'load', trend('same', 'threads')),
    )
    results = write_results(tmp_path / 'results', truth)
    page = write_report(results).read_text(encoding='utf-8')
    assert 'Claims of the study' in page
    assert 'The claim rises.' in page
    numbers = json.loads((results / 'report' / 'numbers.json').read_text(encoding='utf-8'))
    assert sum(entry['formula'].startswith('mean_exponent') for entry in numbers['numbers']) >= 3
    program = results / 'report' / 'recompute.py'
    ran = subprocess.run(  # noqa: S603
        [sys.executable, '-I', '-S', str(program), str(results)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.endswith(' 0 differences\n'), ran.stdout
