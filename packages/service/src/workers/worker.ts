import cluster from 'node:cluster';
import { Channel } from './channel.ts';

/** The channel to the parent; null when this process is not a worker. It keeps the process running. */
export function channelToParent(): Channel | null {
  if (cluster.isPrimary) return null;
  return new Channel({
    send: (message, sent) => {
      if (process.connected) process.send!(message, undefined, undefined, sent);
    },
    onMessage: (listener) => process.on('message', listener),
  });
}

/** From here on, the channel does not keep the process running. */
export function releaseParent(): void {
  process.channel?.unref();
}
