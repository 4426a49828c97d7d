/** The properties that YCSB's core workload, client and measurements (0.17) read. */
export const YCSB_PROPERTIES: readonly string[] = [
  ...['table', 'fieldcount', 'fieldnameprefix', 'fieldlength', 'minfieldlength', 'fieldlengthdistribution'],
  ...['fieldlengthhistogram', 'readallfields', 'readallfieldsbyname', 'writeallfields', 'dataintegrity'],
  ...['readproportion', 'updateproportion', 'insertproportion', 'scanproportion'],
  ...['readmodifywriteproportion', 'requestdistribution', 'zeropadding', 'minscanlength', 'maxscanlength'],
  ...['scanlengthdistribution', 'insertorder', 'insertstart', 'insertcount', 'recordcount', 'operationcount'],
  ...['hotspotdatafraction', 'hotspotopnfraction', 'exponential.percentile', 'exponential.frac'],
  ...['core_workload_insertion_retry_limit', 'core_workload_insertion_retry_interval'],
  ...['workload', 'db', 'exporter', 'exportfile', 'threadcount', 'target', 'maxexecutiontime'],
  ...['dotransactions', 'status', 'status.interval', 'label'],
  ...['measurementtype', 'measurement.interval', 'measurement.trackjvm', 'measurement.raw.output_file'],
  ...['measurement.raw.no_summary', 'measurement.histogram.verbose', 'histogram.buckets'],
  ...['hdrhistogram.percentiles', 'hdrhistogram.fileoutput', 'hdrhistogram.output.path'],
  ...['timeseries.granularity', 'reportlatencyforeacherror', 'latencytrackederrors'],
];
