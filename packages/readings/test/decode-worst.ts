import { DecodeError, MAX_READINGS_PER_PAYLOAD } from '@tidegauge/readings';
import { decoders, worstPayloads } from './worst-payloads.ts';

// Decodes all of the worst payloads, with the decoders that read them. The caller bounds the memory of this process.

const notes = { unit: () => {}, ignored: () => {} };
const bytes = Number(process.argv[2]);
for (const { name, decoders: names, make } of worstPayloads) {
  const payload = make(bytes);
  for (const decoder of names) {
    const context = { device: 'd', metric: 'm', received: Date.now() * 1000, notes };
    const decoded = decoders[decoder]!(payload, context);
    const readings = decoded instanceof DecodeError ? 0 : decoded.length;
    if (readings > MAX_READINGS_PER_PAYLOAD) throw new Error(`${decoder}: ${name}: ${readings} readings`);
    if (process.argv[3] === 'print')
      console.log(decoder, name, decoded instanceof DecodeError ? decoded.message.slice(0, 90) : readings);
  }
}
console.log('done');
