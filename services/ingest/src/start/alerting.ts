import { Alerts } from '../alerts/alerts.ts';
import { StoreLease } from '../alerts/lease.ts';
import { mqttNotices } from '../alerts/mqtt-notices.ts';
import type { Receiver } from '../alerts/receivers-file.ts';
import type { AlertRule } from '../alerts/rule.ts';
import { webhook } from '../alerts/webhook.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Files } from './files.ts';
import type { Sources } from './sources.ts';
import type { Start } from './start.ts';
import type { State } from './state.ts';

export type Alerting = ReturnType<typeof openAlerts>;

/** Opens the alerts and follows their files. */
export function openAlerts(
  { config, logger, undo }: Start,
  { alertFiles: { rules, receivers } }: Files,
  { store }: State,
  { broker, isConnected }: Sources,
  pipeline: Pipeline,
) {
  const fixed = fixedReceivers(config, broker);
  const alerts = new Alerts({
    rules: rules.entries,
    store,
    lease: new StoreLease(store, config.clientId, config.shareGroup !== null),
    receivers: [...fixed, ...receivers.entries],
    logger: logger.child({ component: 'alerts' }),
    isReceiving: () => isConnected() && pipeline.trouble === null && pipeline.accounts.spooled === 0,
  });
  rules.watch((changed: readonly AlertRule[]) => {
    alerts.replace(changed);
    alerts.start();
  });
  undo.push(() => rules.stop());
  receivers.watch((entries) => alerts.replaceReceivers([...fixed, ...entries]));
  undo.push(() => receivers.stop());
  return { alerts, alertFiles: { rules, receivers, fixed } };
}

/** The receivers of messages about alerts that are settings. @throws {ConfigError} */
function fixedReceivers(
  { alertTopic, alertWebhook, alertWebhookSecret: secret }: Start['config'],
  broker: Sources['broker'],
): readonly Receiver[] {
  const found: Receiver[] = [];
  const add = (name: 'mqtt' | 'webhook', target: string, send: Receiver['send']) =>
    void found.push({ name, kind: name, target, version: 'setting', send });
  if (alertTopic !== null && broker !== null)
    add('mqtt', alertTopic, mqttNotices(broker.session, alertTopic));
  if (alertWebhook !== null)
    add('webhook', new URL(alertWebhook).host, webhook({ url: alertWebhook, secret }));
  return found;
}
