"""What the OpenAPI document cannot express. Without these hooks, Schemathesis would report correct answers as errors."""

import json
from urllib.parse import urlencode

import schemathesis
from schemathesis.generation import GenerationMode


@schemathesis.serializer('application/senml+cbor')
def cbor(context, value):
    # Any bytes are a body, see `before_load_schema`. Text that is not CBOR is quarantined.
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Ingest accepts every body: what it cannot decode is quarantined, and the answer is still 202.
    body = raw_schema['paths']['/v1/readings']['post']['requestBody']
    for media_type in body['content'].values():
        media_type['schema'] = {}


@schemathesis.hook
def before_call(context, case, kwargs):
    # Requests that are meant to be wrong are sent unchanged.
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if isinstance(case.query, dict):
        # The URL and the headers have 16 KiB at most.
        for name, values in case.query.items():
            while isinstance(values, list) and len(values) > 1 and len(urlencode({name: values}, True)) > 12_000:
                case.query[name] = values = values[: len(values) // 2]
        # A cursor is signed: an invented text is never a cursor.
        case.query.pop('cursor', None)
        # As in bodies, see below.
        if case.operation.path.startswith('/v1/records/') and 'fields' in case.query:
            # One text with commas, or a list.
            fields = case.query['fields']
            text = fields if isinstance(fields, str) else ','.join(fields)
            case.query['fields'] = ','.join(_existing(dict.fromkeys(text.split(','))))
        # At most 10,000 buckets fit between `from` and `to`.
        if 'bucket' in case.query:
            case.query['bucket'] = '999999999d'
    if case.operation.label == 'GET /v1/readings':
        # Either `device` or filters select the devices.
        query = dict(case.query or {})
        if any(field in query for field in ('site', 'city', 'kind', 'year')):
            query.pop('device', None)
        else:
            query.setdefault('device', 'site-3/boiler/probe-7')
        case.query = query
    if case.operation.label == 'GET /v1/readings/latest':
        # Names of devices exclude the other filters and pages.
        query = dict(case.query or {})
        if any(field in query for field in ('prefix', 'site', 'city', 'kind', 'year', 'limit')):
            query.pop('device', None)
        case.query = query
    if case.operation.label in {'GET /v1/readings/series', 'GET /v1/readings/wrong'} and isinstance(case.query, dict):
        # There is one metric for each device, or one for all.
        metrics = case.query.get('metric')
        case.query['metric'] = metrics[:1] if isinstance(metrics, list) else metrics
    if isinstance(case.query, dict) and 'from' in case.query:
        # The end is not before the beginning.
        case.query.pop('to', None)
    if case.operation.path.startswith('/v1/annotations') and isinstance(case.body, dict):
        case.body.pop('to', None)
        # With escapes, a text can be longer than a value.
        case.body['text'] = case.body.get('text', '')[:500]
    if case.operation.label == 'DELETE /v1/readings':
        # At least one of both bounds is required.
        query = dict(case.query or {})
        if 'from' not in query and 'to' not in query:
            query['from'] = '2026-01-01T00:00:00Z'
        case.query = query
    if case.operation.label == 'GET /v1/export':
        # As above. Without either, all devices are exported.
        query = dict(case.query or {})
        if any(field in query for field in ('prefix', 'site', 'city', 'kind', 'year')):
            query.pop('device', None)
        # A position has three parts, and Parquet starts at the first row.
        position = ('afterDevice', 'afterMetric', 'afterTime')
        if query.get('format') == 'parquet' or any(field not in query for field in position):
            for field in position:
                query.pop(field, None)
        case.query = query
    if case.operation.path in {'/api/query', '/api/search/lookup'}:
        _write_query(case)
    if case.operation.path.startswith('/v1/records/') and isinstance(case.body, dict):
        if 'fieldCount' in case.body:
            # The test drops its table and creates it again.
            case.body['fieldCount'] = 10
        for record in [case.body, *case.body.get('records', [])]:
            if 'fields' in record:
                record['fields'] = _existing(record['fields'])


def _existing(fields):
    # The test creates a table with the fields field0 to field9. Others are refused by the store.
    return {f'field{int(name.removeprefix("field")) % 10}': value for name, value in fields.items()}


def _write_query(case):
    # The texts of OpenTSDB's queries have a grammar, and refer to metrics, tags and times.
    if case.method == 'POST':
        filters = [{'type': 'wildcard', 'tagk': 'device', 'filter': '*', 'groupBy': True}]
        query = {'aggregator': 'sum', 'metric': 'temperature', 'downsample': '1h-avg', 'filters': filters}
        case.body = {'start': '1d-ago', 'queries': [query]}
    elif case.operation.path == '/api/query':
        flags = {name: case.query[name] for name in ('ms', 'arrays') if name in (case.query or {})}
        case.query = {**flags, 'start': '1d-ago', 'm': ['sum:1h-avg:temperature{device=*}']}
    else:
        case.query = {**(case.query or {}), 'm': 'temperature{device=*}'}
