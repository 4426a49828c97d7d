import { type DecodeContext, DecodeError } from '../codec.ts';
import { ANOTHER_NAME, deviceOfValue } from '../naming.ts';
import { quote } from '../quote.ts';
import { deviceNameProblem, metricNameProblem } from '../reading.ts';
import { cleanName } from './clean-name.ts';
import type { MappingOptions } from './options.ts';
import { isObject, isTable } from './paths.ts';
import { patternList } from './patterns.ts';
import { compileTemplate, type Template, type TemplateValues } from './template.ts';

/** How a mapping names the device and the metrics of a record. */
export class RecordNames {
  readonly #device: Template | null;
  readonly #metric: Template | null;
  /** Whether `metric` names every metric, not only that of `value`. */
  readonly namesFields: boolean;
  /** Whether the template of metrics has the metric of the topic. */
  readonly hasLevelInName: boolean;
  readonly #deviceHasLevel: boolean;
  /** Whether a field `device` of a record names its device. */
  readonly readsDevice: boolean;

  constructor({ device, metric, drop = [] }: MappingOptions) {
    this.#device = device === undefined ? null : compileTemplate(device);
    this.#metric = metric === undefined ? null : compileTemplate(metric);
    this.namesFields = this.#metric?.names.includes('field') ?? false;
    this.hasLevelInName = this.#metric?.names.includes('metric') ?? false;
    this.#deviceHasLevel = this.#device?.names.includes('metric') ?? false;
    this.readsDevice = device === undefined && patternList(drop).find('device') === null;
  }

  get hasDevice(): boolean {
    return this.#device !== null;
  }

  get hasMetric(): boolean {
    return this.#metric !== null;
  }

  /** Whether the keys of records are in the names of metrics. */
  get hasKeyInName(): boolean {
    return this.#metric?.names.includes('key') ?? false;
  }

  /** The fields of the payload that the templates have. */
  get fields(): readonly string[] {
    return [...(this.#device?.names ?? []), ...(this.#metric?.names ?? [])];
  }

  /** Whether the payload has a part in the name of the device, or of every metric besides its field. */
  tellsApart(context: DecodeContext): boolean {
    const names = [...(this.#device?.names ?? []), ...(this.namesFields ? this.#metric!.names : [])];
    return !names.every((name) => isOfTopic(name, context));
  }

  /** @param hasLevel whether the metric of the topic is a part of the name of the value */
  deviceOf(values: TemplateValues, context: DecodeContext, hasLevel: boolean): string | DecodeError {
    if (this.#device === null) {
      const own = this.readsDevice && isTable(values.record) ? values.record.device : undefined;
      const named = isName(own) ? cleanDevice(String(own)) : null;
      return deviceOfValue(context, named, hasLevel ? null : ANOTHER_NAME);
    }
    const isShort = hasLevel || this.#deviceHasLevel || context.device === null;
    const full = isShort ? undefined : context.full;
    if (full instanceof DecodeError && this.#device.names.includes('device')) return full;
    const topic = typeof full === 'string' ? { ...values.topic, device: full } : values.topic;
    const device = this.#device.fill({ ...values, topic }, cleanDevice);
    if (typeof device !== 'string') return missing(device.missing, 'device');
    const problem = deviceNameProblem(device);
    return problem === null ? device : new DecodeError('invalid_name', `device ${quote(device)}: ${problem}`);
  }

  /** Whether the name of the value of a record has the metric of the topic, which is in the device otherwise. */
  hasLevel({ record }: TemplateValues): boolean {
    if (this.#metric !== null) return this.namesFields || this.hasLevelInName;
    return !isObject(record) || !isName(record.metric);
  }

  /**
   * The metric of the value of a record; null when nothing names it.
   *
   * @param isPayload whether the value is the whole payload: when the topic has no metric, `{field}` is empty
   */
  metricOf(values: TemplateValues, context: DecodeContext, isPayload = false): string | null | DecodeError {
    let metric = context.metric;
    if (this.#metric !== null && (!this.namesFields || (isPayload && metric === null))) {
      const filled = this.#metric.fill({ ...values, field: '' }, cleanName, oneWord);
      if (typeof filled !== 'string') return missing(filled.missing, 'metric');
      metric = filled === '' ? null : filled;
    } else if (this.#metric === null && isObject(values.record) && isName(values.record.metric)) {
      metric = cleanName(String(values.record.metric));
    }
    const problem = metric === null ? null : metricNameProblem(metric);
    return problem === null ? metric : new DecodeError('invalid_name', problem);
  }

  /** The metric of a field, where `metric` names every metric. */
  metricOfField(values: TemplateValues, field: string): string | DecodeError {
    const filled = this.#metric!.fill({ ...values, field }, cleanName, oneWord);
    return typeof filled === 'string' ? filled : missing(filled.missing, 'metric');
  }
}

/** Whether a name in a template is of the topic, or of the field that it names, and so of no other field of the payload. */
export function isOfTopic(name: string, { captured }: DecodeContext): boolean {
  return ['device', 'metric', 'field'].includes(name) || Object.hasOwn(captured ?? {}, name);
}

/** Whether a value of a payload can be the name of a device or a metric. */
export function isName(value: unknown): value is string | number {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}

/** A device of a payload: a path, of which each segment is cleaned. */
function cleanDevice(name: string): string {
  return name.split('/').map(cleanName).join('/');
}

/** A name as a part of a metric: the path of a device becomes one word. */
function oneWord(name: string): string {
  return name.replaceAll('/', '~2F');
}

function missing(name: string, key: string): DecodeError {
  return new DecodeError('invalid_name', `the payload has no "${name}", which ${key} of the mapping uses`);
}
