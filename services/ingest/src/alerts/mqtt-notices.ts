import type { MqttSession } from '@tidegauge/mqtt-session';
import type { Notice } from './channel.ts';
import { noticeDocument } from './document.ts';

/**
 * Publishes messages about alerts to `<topic>/<rule>/<device>[/<metric>]`, with QoS 1, through the session of ingest: a
 * broker may identify clients by their user, and would end the session for a second connection. Where the broker keeps
 * retained messages, the topic has the message of an active alert, and nothing when the alert has ended.
 */
export function mqttNotices(
  session: Pick<MqttSession, 'deliver' | 'retains'>,
  topic: string,
): (notice: Notice) => Promise<void> {
  return async ({ event, alert }) => {
    const path = [topic, alert.rule, alert.device, ...(alert.metric === null ? [] : [alert.metric])].join(
      '/',
    );
    const payload = Buffer.from(JSON.stringify(noticeDocument({ alert, event })));
    const isActive = event === 'raised';
    const retain = session.retains;
    await session.deliver(path, payload, { retain: retain && isActive });
    if (retain && !isActive) await session.deliver(path, new Uint8Array(), { retain: true });
  };
}
