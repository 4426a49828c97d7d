/** Types of the MQTT module in loadtests/k6-modules/mqtt. The comments there describe the functions. */
declare module 'k6/x/tidegauge/mqtt' {
  export interface ConnectOptions {
    readonly url: string;
    readonly clientId?: string;
    readonly username?: string;
    readonly password?: string;
    readonly clean?: boolean;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly insecure?: boolean;
    readonly keepAliveS?: number;
    readonly connectTimeoutMs?: number;
    readonly ackTimeoutMs?: number;
  }

  export interface PublishOptions {
    readonly qos?: 0 | 1 | 2;
    readonly retain?: boolean;
    readonly track?: boolean;
    readonly lateMs?: number;
  }

  /** The error of a rejected publish. */
  export interface PublishError {
    readonly kind: 'publish' | 'timeout' | 'lost';
  }

  export interface Client {
    readonly sessionPresent: boolean;
    publish(topic: string, payload: string | ArrayBuffer, options?: PublishOptions): Promise<number>;
    subscribe(filter: string, qos: 0 | 1 | 2): void;
    waitReceived(count: number, timeoutMs: number): boolean;
    drain(timeoutMs: number): boolean;
    isConnected(): boolean;
    close(): void;
  }

  export function connect(options: ConnectOptions): Client;
  export function pending(): number;
}
