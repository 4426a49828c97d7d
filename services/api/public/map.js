// A map of the sites whose devices have the attributes `lat` and `lon`, in degrees. It uses no map tiles.

import { $, setText, svg } from './dom.js';
import { middleCut } from './format.js';
import { isQuiet, sensors } from './model.js';
import { nameText } from './names.js';

const WIDTH = 100;
const MARGIN = 8;
/** Smallest width of the map, degrees. It shows some area around a single site. */
const LEAST_SPAN = 0.01;
const MOST_SITES = 500;
/** Longest label, characters. It fits into half of the map. */
const LABEL_LENGTH = 20;
/** Sizes of a mark and of its label, in units of the drawing. */
const RADIUS = 1.6;
const LABEL_OFFSET = 2.6;
const LETTER_WIDTH = 1.9;

let drawn = '';

/**
 * Positions of the sites on a drawing 100 wide: `{height, places: [{...site, x, y}]}`. North is up. The scale of the
 * longitude is that of the middle latitude. Pure function; `sites` must not be empty.
 */
export function project(sites) {
  const middle = (from, to) => (from + to) / 2;
  const [south, north] = range(sites.map(({ lat }) => lat));
  const [west, east] = range(sites.map(({ lon }) => lon));
  const squeeze = Math.max(0.05, Math.cos((middle(south, north) * Math.PI) / 180));
  const span = Math.max((east - west) * squeeze, (north - south) * 1.6, LEAST_SPAN);
  const scale = (WIDTH - 2 * MARGIN) / span;
  const height = Math.max(30, (north - south) * scale + 2 * MARGIN);
  const places = sites.map((site) => ({
    ...site,
    x: WIDTH / 2 + (site.lon - middle(west, east)) * squeeze * scale,
    y: height / 2 - (site.lat - middle(south, north)) * scale,
  }));
  return { height, places };
}

/** Sites by position, with the number of their sensors, the time of the last report, and whether all are quiet. */
export function sitesOf(all, now) {
  const sites = new Map();
  for (const sensor of all) {
    const { name, site, attributes, seen } = sensor;
    const quiet = isQuiet(sensor, now);
    const [lat, lon] = [degrees(attributes?.lat, 90), degrees(attributes?.lon, 180)];
    if (lat === null || lon === null) continue;
    const key = `${lat.toFixed(4)} ${lon.toFixed(4)}`;
    const known = sites.get(key);
    if (known === undefined) {
      if (sites.size < MOST_SITES)
        sites.set(key, { name, site: nameText(site || name), lat, lon, seen, quiet, count: 1 });
    } else {
      known.count += 1;
      known.seen = Math.max(known.seen, seen);
      known.quiet &&= quiet;
    }
  }
  return [...sites.values()];
}

/** Draws the map. Its card is visible when a device has a position. */
export function paintMap(now) {
  const sites = sitesOf(sensors.values(), now);
  $('map-card').hidden = sites.length === 0;
  if (sites.length === 0) return;
  const { height, places } = project(sites);
  const marked = sideLabels(places).map((place) => ({ ...place, heard: heardOf(place) }));
  // A mark that is drawn again loses the focus and a click on it, so the map is drawn only when it has changed.
  const known = JSON.stringify(marked.map(({ seen: _, ...place }) => place));
  if (known === drawn) return;
  drawn = known;
  $('map').setAttribute('viewBox', `0 0 ${WIDTH} ${height.toFixed(1)}`);
  $('map-places').replaceChildren(...marked.map(mark));
  setText($('map-sum'), `${sites.length} ${sites.length === 1 ? 'place' : 'places'}`);
}

function heardOf({ seen, quiet }) {
  if (seen === 0) return 'not heard yet';
  return quiet ? 'quiet' : 'reporting';
}

/**
 * Gives each place the side of its label: `left`, `right`, or null when it would cover another label or mark on both
 * sides. The mark's title has the complete name. Pure function.
 */
export function sideLabels(places) {
  const taken = places.map(({ x, y }) => box(x - RADIUS, x + RADIUS, y));
  return places.map((place, index) => {
    const { site, x, y } = place;
    const length = middleCut(site, LABEL_LENGTH).length * LETTER_WIDTH;
    const sides = {
      right: box(x + LABEL_OFFSET, x + LABEL_OFFSET + length, y),
      left: box(x - LABEL_OFFSET - length, x - LABEL_OFFSET, y),
    };
    const order = x > WIDTH / 2 ? ['left', 'right'] : ['right', 'left'];
    const isFree = ({ from, to, top, bottom }) =>
      from >= 0 &&
      to <= WIDTH &&
      taken.every(
        (other, at) =>
          at === index || from > other.to || to < other.from || top > other.bottom || bottom < other.top,
      );
    const side = order.find((each) => isFree(sides[each])) ?? null;
    if (side !== null) taken.push(sides[side]);
    return { ...place, side };
  });
}

function box(from, to, y) {
  return { from, to, top: y - RADIUS, bottom: y + RADIUS };
}

function mark({ name, site, count, heard, x, y, side }) {
  const left = side === 'left';
  const link = svg('a', { href: `#/sensor/${name.split('/').map(encodeURIComponent).join('/')}` });
  link.append(
    svg('title', {}, `${site}: ${count} ${count === 1 ? 'sensor' : 'sensors'}, ${heard}`),
    svg('circle', { cx: x.toFixed(2), cy: y.toFixed(2), r: RADIUS, 'data-quiet': heard !== 'reporting' }),
    svg(
      'text',
      {
        x: (left ? x - LABEL_OFFSET : x + LABEL_OFFSET).toFixed(2),
        y: (y + 1).toFixed(2),
        'text-anchor': left ? 'end' : 'start',
      },
      side === null ? '' : middleCut(site, LABEL_LENGTH),
    ),
  );
  return link;
}

function range(values) {
  return [Math.min(...values), Math.max(...values)];
}

/** A number of degrees up to `most`, or null. Attributes may be texts. */
function degrees(value, most) {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Math.abs(number) <= most ? number : null;
}
