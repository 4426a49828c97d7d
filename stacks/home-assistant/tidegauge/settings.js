const ANSWER_MS = 10_000;

/**
 * The broker that an add-on of Home Assistant provides. Null: there is none.
 *
 * @param {string} supervisor the URL of the Supervisor's API
 * @param {string} token what the Supervisor gives to this add-on
 * @returns {Promise<{ host: string, port: number, ssl: boolean, username?: string, password?: string } | null>}
 * @throws {Error} when the Supervisor does not answer
 */
export async function brokerOf(supervisor, token) {
  const answer = await fetch(`${supervisor}/services/mqtt`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  // No add-on provides it.
  if (answer.status === 400) return null;
  if (!answer.ok)
    throw new Error(`the Supervisor does not give its broker: ${answer.status} ${await answer.text()}`);
  const { data } = await answer.json();
  return data?.host === undefined ? null : data;
}

/**
 * The variables of `tidegauge start`.
 *
 * @param {Readonly<Record<string, any>>} options what the user has set, as the schema in config.yaml describes it
 * @param {Awaited<ReturnType<typeof brokerOf>>} found the broker of Home Assistant
 * @returns {Record<string, string>}
 * @throws {Error} when there is no broker
 */
export function variablesFrom(options, found) {
  if (!options.broker && found === null)
    throw new Error(
      'Home Assistant has no broker: install the add-on Mosquitto broker, or set the option Broker',
    );
  const login = options.broker ? options : { ...found, ...loginOf(options) };
  return {
    BROKER: options.broker || `${found.ssl ? 'mqtts' : 'mqtt'}://${found.host}:${found.port}`,
    ...(login.username ? { MQTT_USER: login.username } : {}),
    ...(login.password ? { MQTT_PASSWORD: login.password } : {}),
    LOG_LEVEL: options.log_level,
    // Home Assistant has logged the user in, under any name. It sends Host and Origin of the browser, which must be equal
    // for changes.
    ALLOWED_HOSTS: '*',
  };
}

/** A user of the options replaces that of Home Assistant, with its password. */
function loginOf({ username, password }) {
  return username ? { username, password } : {};
}
