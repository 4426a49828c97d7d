"""Processor, memory, disk, network and energy of each combination."""

from collections.abc import Sequence

from tidegauge_analysis.archive import Json, Run, Status
from tidegauge_analysis.cells import Cell, cells_of
from tidegauge_analysis.document import Estimate, NodeRow, Number, Resources
from tidegauge_analysis.numbers import Ledger, anchor, missing, no_estimate
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.summaries import sample_of

EXPERIMENT = ['store', 'api', 'client']
UNKNOWN = 'it was not measured here'


def resources(scope: Scope) -> list[Resources]:
    """Summarise the resources of each combination of the factors that vary."""
    found = []
    drivers = {series.id: len(series.drivers) for series in scope.archive.series}
    for cell in cells_of(scope.archive):
        runs = [run for run in cell.runs if run.status is Status.ANALYSED]
        if runs:
            found.append(_resources(cell, runs, drivers, scope))
    return found


def _resources(cell: Cell, runs: list[Run], drivers: dict[str, int], scope: Scope) -> Resources:
    ledger, counts = scope.ledger, scope.measured.succeeded
    nodes: dict[tuple[str, str], None] = {}
    for run in runs:
        nodes.update({(node['role'], node['node']): None for node in run.document['nodes']})
    return Resources(
        id=anchor('resources', cell.label),
        label=cell.label,
        factors=cell.factors,
        n=len(runs),
        nodes=[_node(role, node, runs, ledger) for role, node in sorted(nodes, key=_place)],
        bytes_per_record=_mean([_bytes_per_record(run, drivers, ledger) for run in runs], 'bytes', ledger),
        write_amplification=_mean([_amplification(run, counts[run.name], ledger) for run in runs], '', ledger),
        client_cpu_share=_mean([_client_share(run, ledger) for run in runs], '', ledger),
        energy_per_operation=_energy(runs, ledger),
        energy_source=next((run.document['energy']['source'] for run in runs if run.document.get('energy')), None),
    )


def _place(key: tuple[str, str]) -> tuple[int, str]:
    order = [*EXPERIMENT, 'machine']
    return (order.index(key[0]) if key[0] in order else len(order), key[1])


def _mean(numbers: Sequence[Number], unit: str, ledger: Ledger) -> Estimate:
    sample = sample_of(numbers, unit, ledger)
    if not sample.numbers:
        return no_estimate(unit, next((number.reason for number in numbers if number.reason), UNKNOWN))
    return sample.mean()


def _node(role: str, name: str, runs: list[Run], ledger: Ledger) -> NodeRow:
    found: list[tuple[Run, int, Json]] = [
        (run, index, node)
        for run in runs
        for index, node in enumerate(run.document['nodes'])
        if (node['role'], node['node']) == (role, name)
    ]

    def of(key: str, unit: str, over: str | None = None) -> Estimate:
        numbers = []
        for run, index, node in found:
            inputs: Json = {'file': f'runs/{run.name}.json', 'path': ['nodes', index, key]}
            value = node[key]
            if over is not None:
                inputs['over'] = [over]
                value = value / run.document[over] if value is not None and run.document[over] else None
            numbers.append(ledger.add(value, unit, 'field' if over is None else 'field_over', UNKNOWN, **inputs))
        return _mean(numbers, unit, ledger)

    return NodeRow(
        node=name,
        role=role,
        cpu=of('cpuSeconds', 'processors', over='seconds'),
        memory=of('memoryBytes', 'bytes'),
        read=of('readBytes', 'bytes'),
        written=of('writtenBytes', 'bytes'),
        received=of('receivedBytes', 'bytes'),
        sent=of('sentBytes', 'bytes'),
        source=', '.join(sorted({str(node['source']) for _, _, node in found})),
    )


def _bytes_per_record(run: Run, drivers: dict[str, int], ledger: Ledger) -> Number:
    stored = run.document.get('storedBytes')
    records = run.factors.get('records')
    if stored is None or not isinstance(records, int | float) or records <= 0:
        return missing('bytes', 'the bytes on the disks of the store were not measured')
    # Each driver of a series has its own table with the same records.
    per = records * drivers[run.series]
    file = f'runs/{run.name}.json'
    return ledger.add(stored['after'] / per, 'bytes', 'field_per', file=file, path=['storedBytes', 'after'], per=per)


def _amplification(run: Run, counts: dict[str, int], ledger: Ledger) -> Number:
    written = [node['writtenBytes'] for node in run.document['nodes'] if node['role'] == 'store']
    if not written or any(value is None for value in written):
        return missing('', 'the bytes that the store wrote were not measured')
    if counts['UPDATE-SOME'] > 0:
        return missing('', 'the bytes that an update of devices writes are not known')
    length, fields = run.factors.get('length', 100), run.factors.get('fields', 10)
    if not isinstance(length, int | float) or not isinstance(fields, int | float):
        return missing('', 'the size of a record is not known')
    # An update writes one field, as in YCSB with writeallfields=false; an insert writes all.
    sizes = {'UPDATE': length, 'READ-MODIFY-WRITE': length, 'INSERT': length * fields}
    payload = sum(counts[operation] * size for operation, size in sizes.items())
    if payload == 0:
        return missing('', 'the run writes nothing')
    return ledger.add(sum(written) / payload, '', 'write_amplification', run=run.name, bytes=sizes)


def _client_share(run: Run, ledger: Ledger) -> Number:
    used = {'client': 0.0, 'all': 0.0}
    for node in run.document['nodes']:
        if node['role'] not in EXPERIMENT:
            continue
        if node['cpuSeconds'] is None:
            return missing('', 'the processor time of a part of the experiment was not measured')
        used['all'] += node['cpuSeconds']
        used['client'] += node['cpuSeconds'] if node['role'] == 'client' else 0.0
    value = used['client'] / used['all'] if used['all'] > 0 else None
    inputs: Json = {'run': run.name, 'key': 'cpuSeconds', 'roles': ['client'], 'of_roles': EXPERIMENT}
    return ledger.add(value, '', 'node_share', 'no processor time was measured', **inputs)


def _energy(runs: list[Run], ledger: Ledger) -> Estimate:
    """Energy of an operation; the bounds are those of the model or meter."""
    measured = [run for run in runs if run.document.get('energy') is not None and run.document['done']]
    if not measured:
        return no_estimate('J', 'the experiment has no energy model and no meter')

    def of(key: str) -> Number:
        numbers = [
            ledger.add(
                run.document['energy'][key] / run.document['done'],
                'J',
                'field_over',
                file=f'runs/{run.name}.json',
                path=['energy', key],
                over=['done'],
            )
            for run in measured
        ]
        return _mean(numbers, 'J', ledger).value

    return Estimate(of('joules'), of('low'), of('high'), 1.0)
