import type { AnnotationQuery } from '@grafana/grafana-foundation-sdk/dashboard';

export const OPENTSDB = { type: 'opentsdb', uid: '$datasource' };

/** The fields of a query of Grafana's OpenTSDB data source that dashboards set. */
export interface OpenTsdbTarget {
  readonly refId?: string;
  readonly metric: string;
  readonly aggregator: string;
  readonly alias: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly downsampleAggregator: string;
  readonly downsampleFillPolicy: string;
  /** Default: that of the chart. */
  readonly downsampleInterval?: string;
}

/**
 * A query for a series of each device.
 *
 * @param downsample the aggregator of the values in an interval of the chart
 * @param device a device, or `*` for all
 * @param others fields that differ
 */
export function valuesOf(
  downsample: 'last' | 'avg',
  device: string,
  others: Partial<OpenTsdbTarget> = {},
): { build(): OpenTsdbTarget & { _implementsDataqueryVariant(): void } } {
  const target: OpenTsdbTarget = {
    metric: '$metric',
    aggregator: 'avg',
    alias: '$tag_device',
    tags: { device },
    downsampleAggregator: downsample,
    downsampleFillPolicy: 'none',
  };
  return {
    build: () => ({
      _implementsDataqueryVariant: () => {},
      refId: 'A',
      datasource: OPENTSDB,
      ...target,
      ...others,
    }),
  };
}

/**
 * The annotations of devices and of all, in every panel. Grafana's data source has its own fields in the query, which the
 * schema of dashboards does not have.
 */
export function annotations(name: string): { build(): AnnotationQuery } {
  const target = { refId: 'Annotations', fromAnnotations: true, target: 'annotation', name, isGlobal: false };
  const query = { name, datasource: OPENTSDB, enable: true, iconColor: 'purple', target };
  return { build: () => query as unknown as AnnotationQuery };
}
