// Units of the IANA registry "Sensor Measurement Lists (SenML)": the primary units of RFC 8428 section 12.1 and of
// later registrations, and the secondary units of RFC 8798 section 3 and RFC 9193.

const REGISTERED = new Set(
  [
    'm kg g s A K cd mol Hz rad sr N Pa J W C V F Ohm S Wb T H Cel lm lx Bq Gy Sv kat m2 m3 l m/s m/s2 m3/s l/s',
    'W/m2 cd/m2 bit bit/s lat lon pH dB dBW Bspl count / % %RH %EL EL 1/s 1/min beat/min beats S/m B VA VAs var vars J/m',
    'kg/m3 deg NTU',
    'ms min h MHz kW kVA kvar Ah Wh kWh varh kvarh kVAh Wh/km KiB GB Mbit/s B/s MB/s mV mA dBm ug/m3 mm/h m/h ppm /100 /1000',
    'hPa mm cm km km/h gCO2eq/kWh ppb ppt VAh mg/l ug/l g/l',
  ].flatMap((line) => line.split(' ')),
);

/** Other ways to write a registered unit, as displays and senders do. */
const ALIASES = new Map(
  Object.entries({
    Cel: '°C ℃ ºC degC deg_C celsius Celsius',
    '%RH': '%rh %r.H. %rH RH%',
    '%': 'percent pct',
    m3: 'm³ m^3 cbm',
    m2: 'm² m^2',
    '°F': '℉ ºF degF deg_F fahrenheit Fahrenheit',
    'm/s2': 'm/s²',
    'm/s': 'mps',
    'km/h': 'kmh kph km/hr',
    'm3/s': 'm³/s',
    'W/m2': 'W/m²',
    'kg/m3': 'kg/m³',
    'ug/m3': 'µg/m³ μg/m³ ug/m³ µg/m3 μg/m3',
    Ohm: 'Ω Ω ohm ohms',
    lx: 'lux Lux lux.',
    deg: '°',
    l: 'L ltr litre litres liter liters',
    s: 'sec secs second seconds',
    min: 'mins minute minutes',
    h: 'hr hrs hour hours',
    hPa: 'mbar mb',
    var: 'VAr VAR',
    kvar: 'kVAr kVAR',
    kvarh: 'kVArh kVARh',
    dB: 'db dBA',
    'ug/l': 'µg/l μg/l',
    'beat/min': 'bpm',
    kWh: 'kwh KWh',
    Wh: 'wh',
    V: 'volt volts',
    W: 'watt watts',
    A: 'amp amps ampere',
  }).flatMap(([unit, others]) => others.split(' ').map((other) => [other, unit] as const)),
);

/** Units that are written after numbers but are in no registry. They are recognised there and kept as they are. */
const WRITTEN = new Set(
  [
    '°F ℉ degF kPa Pa MPa bar psi inHg mmHg mi mph ft in kn kt kHz GHz THz mW MW GW MWh GWh uA µA mAh uS/cm µS/cm mS/cm',
    'l/min L/min l/h L/h m³/h m3/h gal Nm kN uV µV kV mm/hr in/h d day days ms us µs ns kB MB TB KB kbit/s kbps Mbps Gbps',
    'mg kg t lb lbs oz g/m³ mg/m³ mg/m3 cpm uSv/h µSv/h nSv/h mSv/h rpm RPM kcal cal J/kg K/W uT µT mT kΩ MΩ mΩ nF µF pF dBi pcs',
  ].flatMap((line) => line.split(' ')),
);

/** The registered name of a unit: `Cel` for `°C`. A unit that is not known stays as it is. */
export function registeredUnit(unit: string): string {
  return ALIASES.get(unit) ?? unit;
}

/** Like `registeredUnit`, for a unit that a payload states: there `C` is degrees Celsius, and not coulomb. */
export function writtenUnit(unit: string): string {
  if (unit === 'C') return 'Cel';
  return unit === 'F' ? '°F' : registeredUnit(unit);
}

/** Whether a unit is in the SenML registry. */
export function isRegistered(unit: string): boolean {
  return REGISTERED.has(unit);
}

/** Whether a word after a number is a unit. */
export function isUnit(word: string): boolean {
  return REGISTERED.has(word) || ALIASES.has(word) || WRITTEN.has(word);
}

/** All registered units, for messages. */
export const registeredUnits: readonly string[] = Object.freeze([...REGISTERED]);
