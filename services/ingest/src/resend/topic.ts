/** Requests for missing readings of a device are published on this topic with the device below it. */
export const RESEND_TOPIC = 'tidegauge/resend';

/** The topic of the requests for a device. */
export function resendTopic(device: string): string {
  return `${RESEND_TOPIC}/${device}`;
}
