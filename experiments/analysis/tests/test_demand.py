import pytest

from tidegauge_analysis.demand import Station, bottleneck, highest_throughput, load_of, service_demand

# Lazowska, Zahorjan, Graham and Sevcik 1984, Quantitative System Performance, chapter 6: a processor and two disks,
# with terminals that think for 15 s.
LAZOWSKA = [Station('processor', 0.605), Station('disk 1', 2.1), Station('disk 2', 1.35)]


@pytest.mark.parametrize(
    ('at_once', 'throughput', 'latency'), [(1, 0.0525, 4.055), (2, 0.1031, 4.401), (3, 0.1515, 4.800)]
)
def test_mean_values_are_those_of_the_textbook(at_once: int, throughput: float, latency: float) -> None:
    load = load_of(LAZOWSKA, at_once, think=15)
    assert load.throughput == pytest.approx(throughput, abs=6e-5)
    assert load.latency == pytest.approx(latency, abs=6e-4)


@pytest.mark.parametrize('at_once', [1, 2, 5, 50])
@pytest.mark.parametrize('count', [1, 2, 7])
def test_equal_stations_have_the_throughput_of_a_balanced_network(at_once: int, count: int) -> None:
    # X(N) = N / (D (N + K - 1)), with the demand D of each of K stations.
    together = load_of([Station('processor', 0.02 * count, count)], at_once)
    assert together.throughput == pytest.approx(at_once / (0.02 * (at_once + count - 1)))
    apart = load_of([Station(f'processor {n}', 0.02) for n in range(count)], at_once)
    assert apart.throughput == pytest.approx(together.throughput)
    assert together.latency == pytest.approx(at_once / together.throughput)


def test_without_stations_all_operations_only_wait() -> None:
    assert load_of([], 8, delay=0.5).throughput == pytest.approx(16)
    assert load_of([], 8, delay=0.5, think=1.5).throughput == pytest.approx(4)


def test_throughput_approaches_the_bound_of_the_busiest_resource() -> None:
    stations = [Station('processor', 0.008, 4), Station('disk', 0.003)]
    assert bottleneck(stations).name == 'disk'
    assert highest_throughput(stations) == pytest.approx(1 / 0.003)
    assert load_of(stations, 500, delay=0.01).throughput == pytest.approx(1 / 0.003, rel=1e-3)


def test_the_demand_is_the_busy_time_of_an_operation() -> None:
    assert service_demand(1.5, 1000) == pytest.approx(0.0015)
    with pytest.raises(ValueError, match='completed operations'):
        service_demand(1.5, 0)


def test_what_has_no_solution_is_refused() -> None:
    with pytest.raises(ValueError, match='needs an operation'):
        load_of(LAZOWSKA, 0)
    with pytest.raises(ValueError, match='need no time'):
        load_of([], 1)
    with pytest.raises(ValueError, match='nothing limits'):
        highest_throughput([Station('processor', 0.0)])


def test_a_process_that_uses_one_processor_limits_the_throughput() -> None:
    stations, limits = [Station('processors', 0.004, 4)], [Station('process', 0.002)]
    assert load_of(stations, 1, limits=limits) == load_of(stations, 1)
    busy = load_of(stations, 100, limits=limits)
    assert busy.throughput == pytest.approx(500)
    assert busy.latency == pytest.approx(0.2)
    assert load_of(stations, 100, think=0.1, limits=limits).latency == pytest.approx(0.1)
