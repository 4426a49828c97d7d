import { roundTripMs, startEcho } from '@tidegauge/lab/toxiproxy';

// Measures the network between two containers of boards: a program in the network of each.
// usage: echo-program.ts serve PORT | echo-program.ts ping HOST:PORT COUNT

const [action, place = '', count] = process.argv.slice(2);

if (action === 'serve') {
  await startEcho('0.0.0.0', Number(place));
  process.stdout.write('ready\n');
  // The server does not keep the process alive.
  setInterval(() => {}, 2 ** 30);
} else {
  process.stdout.write(String(await roundTripMs(place, Number(count))));
}
