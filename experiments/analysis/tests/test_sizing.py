import json
import math
from pathlib import Path

import pytest

from results import Json, Truth, write_results
from tidegauge_analysis.archive import read_archive
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.service_use import Profile, Use, profiles, typical
from tidegauge_analysis.sizing import (
    Board,
    Machine,
    boards_for,
    bytes_for,
    delay_of,
    demand_of,
    highest_rate,
    machine_of,
    main,
    predicted,
    read_board,
)


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Operations of 1 ms, one after the other. The store uses half of it, the client a quarter."""
    truth = Truth(
        hard={'store': ['cassandra'], 'nodes': [1, 2, 3]}, easy={'workload': ['g'], 'driver': ['app']},
        latency={'cassandra': 1000.0}, overhead=0.0, trials=5, operations=400, between_trials=0.01,
        fixed={'threads': 1, 'target': 0, 'records': 1000, 'fields': 10, 'rf': 2},
    )  # fmt: skip
    return write_results(tmp_path_factory.mktemp('sizing') / 'results', truth)


def only(path: Path) -> Profile:
    (profile,) = profiles(read_archive(path))
    return profile


def use(**figures: object) -> Use:
    fields: Json = {
        'deployment': 'd1', 'store': 0.0016, 'api': 0.0004, 'client': 0.0, 'written': 4000.0, 'sent': 100.0,
        'stored': 2000.0, 'throughput': 500.0, **figures,
    }  # fmt: skip
    return Use(**fields)


def profile_of(uses: dict[tuple[int, int], list[Use]], *, apart: bool = False, **levels: object) -> Profile:
    return Profile({'store': 'cassandra', 'workload': 'g', 'rf': 1, **levels}, 1, 'app', 2, apart, uses)


def test_demands_are_what_the_nodes_used_for_each_operation(results: Path) -> None:
    profile = only(results)
    assert profile.levels == {'store': 'cassandra', 'workload': 'g', 'rf': 2}
    assert (profile.sizes, profile.copies, profile.driver, profile.processors) == ([1, 2, 3], 2, 'app', 2)
    demand = demand_of(profile.under_load(1))
    assert demand is not None
    assert demand.processor.value == pytest.approx(0.0005, rel=0.03)
    assert demand.processor.low < demand.processor.value < demand.processor.high
    # The table has 1,000 records and 400 inserts.
    assert profile.stored() == pytest.approx(2_100_000 / 1400)
    # What /proc counts of processes is not what their disks got.
    assert demand.written is None


def test_the_rest_of_the_latency_is_a_wait_and_the_check_predicts_the_throughput(results: Path) -> None:
    profile = only(results)
    # The processors are used for 0.75 of 1 ms.
    assert delay_of(profile) == pytest.approx(0.00025, rel=0.1)
    assert predicted(profile, 2, 1) == pytest.approx(1000, rel=0.03)


def test_boards_are_planned_for_a_rate_and_not_below_the_copies(results: Path) -> None:
    profile, board = only(results), Machine(processors=4)
    demand = demand_of(profile.under_load(1))
    assert demand is not None
    # Four processors do an operation in 0.5 ms each.
    assert highest_rate(demand, board, 1).value == pytest.approx(8000, rel=0.04)
    assert boards_for(profile, board, 100) == 2
    assert boards_for(profile, board, 5 * 8000 * 0.6) == 5
    assert boards_for(profile, board, 1e9) is None
    slow = Machine(processors=4, speed=0.25)
    assert boards_for(profile, slow, 5 * 2000 * 0.6) == 5
    assert bytes_for(profile, 10, 1) == pytest.approx(10 * 86_400 * 1500)


def test_the_resource_with_the_largest_demand_limits_the_rate() -> None:
    uses = [use(), use()]
    demand = demand_of(uses)
    assert demand is not None
    assert highest_rate(demand, Machine(4), 1).value == pytest.approx(2000)
    assert highest_rate(demand, Machine(4, disk=2e6, network=1e6), 1).value == pytest.approx(500)
    assert highest_rate(demand, Machine(4, disk=2e6, network=2e4), 3).value == pytest.approx(600)
    # The API is one process on each board, which uses one processor.
    served = demand_of([use(api=0.001)] * 2)
    assert served is not None
    assert highest_rate(served, Machine(4), 3).value == pytest.approx(3000)
    on_one = profile_of({(1, 16): uses}, store='sqlite')
    assert boards_for(on_one, Machine(4), 1300) == 1
    assert boards_for(on_one, Machine(4), 1500) is None
    # All runs have more threads than the machine has processors.
    assert delay_of(on_one) is None


def test_nodes_share_a_machine_with_the_client_unless_each_has_its_own() -> None:
    uses = [use(store=0.0019, api=0.0001, client=0.0002, throughput=100.0)] * 2
    shared, apart = (profile_of({(3, 1): uses}, apart=each) for each in (False, True))
    # 10 ms, of which 2.2 ms are work, or 2 ms with the client elsewhere.
    assert [delay_of(shared), delay_of(apart)] == pytest.approx([0.0078, 0.008])
    assert predicted(shared, 3, 1000) == pytest.approx(2 / 0.0022, rel=0.01)
    assert predicted(apart, 3, 1000) == pytest.approx(6 / 0.002, rel=0.01)


def test_the_demand_under_load_of_the_nearest_number_of_nodes_is_used() -> None:
    profile = profile_of({(1, 1): [use(store=1.0)], (1, 64): [use(store=2.0)], (3, 64): [use(store=3.0)]})
    assert [profile.under_load(nodes)[0].store for nodes in (1, 2, 3, 15)] == [2.0, 3.0, 3.0, 3.0]
    assert profile.under_load(1, without=1)[0].store == 3.0
    assert profile_of({(1, 1): [use()]}).under_load(1, without=1) == [use()]


def test_a_typical_figure_is_a_geometric_mean_with_deployments_as_the_unit() -> None:
    # Logarithms 1 and 3: 2 with a standard error of 1, and 12.7062 for one degree of freedom.
    found = typical([use(store=math.e), use(store=math.e**3)], lambda each: each.store)
    assert found is not None
    assert found.value == pytest.approx(math.exp(2))
    assert found.high == pytest.approx(math.exp(14.7062), rel=1e-3)
    uses = [use(store=2.0), use(store=2.0), use(store=8.0, deployment='d2')]
    grouped = typical(uses, lambda each: each.store)
    assert grouped is not None
    assert grouped.value == pytest.approx(4.0)
    assert typical([use(), use(written=None)], lambda each: each.written) is None
    assert typical([use()], lambda each: each.store) is None
    assert typical([use(sent=0.0), use(sent=2.0)], lambda each: each.sent) == Interval(1.0, 0.0, 2.0)


def board_file(path: Path, **changes: object) -> Path:
    document = {
        'format': 1, 'processors': 4, 'loopsPerSecond': {'value': 250.0, 'low': 240.0, 'high': 260.0},
        'fsyncSeconds': 0.01, 'writeBytesPerSecond': 2e7, 'networkBytesPerSecond': None, **changes,
    }  # fmt: skip
    path.write_text(json.dumps(document))
    return path


def test_a_calibrated_board_is_relative_to_the_machine_of_the_results(tmp_path: Path) -> None:
    board = read_board(board_file(tmp_path / 'board.json'))
    assert board == Board(4, 250.0, 0.01, 2e7, None)
    assert machine_of(board, Board(2, 1000.0, 0.002, 1e8, 1e8)) == Machine(4, 0.25, 5.0, 2e7, None)


def test_the_tables_answer_and_mark_what_was_not_measured(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = str(board_file(tmp_path / 'board.json'))
    reference = str(board_file(tmp_path / 'reference.json', processors=2, loopsPerSecond={'value': 1000.0}))
    plan = ['--sensors', '100', '--sensors', '100000', '--retention-days', '1', '--disk-bytes', '32e9']
    assert main([str(results), *plan, '--board', board, '--reference', reference]) == 0
    text = capsys.readouterr().out
    assert '| store cassandra, workload g, rf 2 | 1 |' in text
    assert '| combination | 100 sensors | 100,000 sensors |' in text
    # 10,000 operations per second of 2 ms on four processors, of which 70 % are used.
    (row,) = [line for line in text.splitlines() if line.startswith('| store cassandra') and 'GB' in line]
    assert '| 2 \N{MULTIPLICATION SIGN} 1.3' in row
    assert '*81 \N{MULTIPLICATION SIGN} 32\N{NO-BREAK SPACE}GB* (disk)' in row
    assert main([str(results), '--board', board]) == 1
    assert '--board and --reference belong together' in capsys.readouterr().err
    assert main([str(results), '--board', str(results / 'plan.json'), '--reference', reference]) == 1
    assert 'is not a file of npm run study -- calibrate' in capsys.readouterr().err
