import { FrameGeometrySourceMode, type MapLayerOptions } from '@grafana/grafana-foundation-sdk/common';
import * as geomap from '@grafana/grafana-foundation-sdk/geomap';
import { OPENTSDB, valuesOf } from './opentsdb.ts';
import type { BuiltPanel } from './panels.ts';

/** The metrics of positions, in the names of OwnTracks, Meshtastic and ChirpStack. A device has one pair of them. */
const POSITIONS = {
  latitude: ['lat', 'latitude', 'location.latitude'],
  longitude: ['lon', 'longitude', 'location.longitude'],
};
const DEVICES = 'Devices';

/** Countries from a file of Grafana. The other base maps come from the Internet. */
const COUNTRIES: MapLayerOptions = {
  type: 'geojson',
  name: 'Countries',
  config: {
    src: 'public/maps/countries.geojson',
    rules: [],
    // Visible on a light and on a dark page.
    style: { color: { fixed: 'gray' }, opacity: 0.2 },
  },
};

const MARKERS: MapLayerOptions = {
  type: 'markers',
  name: DEVICES,
  location: { mode: FrameGeometrySourceMode.Coords, latitude: 'latitude', longitude: 'longitude' },
  tooltip: true,
};

/**
 * A map of the newest position of each device that sends its position as readings. Devices whose registered position
 * never changes are on the map of the live page: OpenTSDB has no attributes.
 */
export function positionMap(width: number, height: number): BuiltPanel {
  const panel = new geomap.PanelBuilder()
    .title('Positions')
    .description(
      'The newest position of each device that sent one in the time shown, as lat and lon, latitude and longitude, or location.latitude and location.longitude. If a device is missing, choose a longer time.',
    )
    .unit('none')
    .datasource(OPENTSDB)
    .span(width)
    .height(height)
    // The zoom is the largest one of "fit": a single device would be shown at the scale of its house.
    .view(new geomap.MapViewConfigBuilder().id('fit').allLayers(false).layer(DEVICES).zoom(12))
    .tooltip(new geomap.TooltipOptionsBuilder().mode(geomap.TooltipMode.Details))
    .basemap({ build: () => COUNTRIES })
    .layers([{ build: () => MARKERS }]);
  const queries = Object.entries(POSITIONS).flatMap(([name, metrics]) =>
    metrics.map((metric) => ({ metric, alias: `${name} $tag_device` })),
  );
  for (const [index, query] of queries.entries())
    panel.withTarget(valuesOf('last', '*', { ...query, refId: String.fromCharCode(65 + index) }));
  return (
    panel
      // A row for each device, with its position. The frames keep their names, which have the kind of the value.
      .withTransformation({
        id: 'renameByRegex',
        options: { regex: '^(latitude|longitude) (.*)$', renamePattern: '$2' },
      })
      .withTransformation(lastOf('latitude', 'lastNotNull'))
      // Another reducer gives its column another name.
      .withTransformation(lastOf('longitude', 'last'))
      .withTransformation({ id: 'joinByField', options: { byField: 'Field', mode: 'inner' } })
      .withTransformation({
        id: 'organize',
        options: {
          excludeByName: {},
          indexByName: {},
          renameByName: { Field: 'Device', 'Last *': 'latitude', Last: 'longitude' },
        },
      })
  );
}

/** The last values of the series whose names begin with the kind, as rows. */
function lastOf(kind: string, reducer: 'last' | 'lastNotNull') {
  return {
    id: 'reduce',
    filter: { id: 'byName', options: `/^${kind} /` },
    options: { mode: 'seriesToRows', reducers: [reducer] },
  };
}
