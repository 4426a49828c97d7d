import '@fontsource/inter/latin-400.css';
import '@fontsource/inter/latin-500.css';
import { createTheme, dateTime, standardTransformersRegistry, ThemeContext } from '@grafana/data';
import { GlobalStyles, PanelChrome } from '@grafana/ui';
import { useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { NARROW, panelsOn, watchCanvas } from './faults.jsx';
import { framesOf, transformers } from './frames.jsx';
import { Content } from './panels.jsx';

// Grafana's grid: 24 columns, or one on a narrow page.
const COLUMNS = 24;
const UNIT = 30;
const GAP = 8;
const MARGIN = 16;
/** The menu of Grafana, which is open at first on a wide page. */
const MENU = 300;
const STEADY_FRAMES = 12;

standardTransformersRegistry.setInit(transformers);
watchCanvas();
const root = createRoot(document.getElementById('root'));
let drawings = 0;

/**
 * Draws a dashboard and resolves to the height of the page. Tables draw only their visible rows, so the window must have
 * this height.
 *
 * @param model `{ panels, width, from, to }`; each panel has its JSON and the answers to its queries, and rows are panels
 */
window.draw = async ({ panels, width, from, to }) => {
  const range = { from: dateTime(from), to: dateTime(to), raw: { from: dateTime(from), to: dateTime(to) } };
  const placed = placesOf(
    panels.map(({ panel }) => panel),
    width - menuOf(width) - 2 * MARGIN,
  );
  const drawn = await Promise.all(
    panels.map(async ({ panel, answers }, index) => ({
      panel,
      place: placed[index],
      frames: panel.type === 'row' ? [] : await framesOf(panel, answers),
    })),
  );
  await document.fonts.ready;
  await new Promise((resolve) => {
    // Another key makes another page, so that nothing of the last one stays.
    drawings += 1;
    root.render(<Page key={drawings} left={menuOf(width)} drawn={drawn} range={range} onDrawn={resolve} />);
  });
  return Math.ceil(document.getElementById('root').getBoundingClientRect().bottom);
};

/** What a reader sees of each panel, when everything is drawn. */
window.read = async () => {
  const page = document.getElementById('root');
  await steady(page);
  return panelsOn(page);
};

/** Resolves when nothing has changed for some frames. Charts and tables draw after the first layout. */
async function steady(element) {
  let frames = 0;
  const observer = new MutationObserver(() => {
    frames = 0;
  });
  observer.observe(element, { subtree: true, childList: true, attributes: true, characterData: true });
  for (; frames < STEADY_FRAMES; frames++) await new Promise(requestAnimationFrame);
  observer.disconnect();
}

function Page({ left, drawn, range, onDrawn }) {
  useLayoutEffect(onDrawn, [onDrawn]);
  const theme = createTheme({ colors: { mode: 'light' } });
  const bottom = Math.max(...drawn.map(({ place }) => place.top + place.height));
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div
        style={{
          position: 'relative',
          height: bottom + MARGIN,
          margin: `${MARGIN}px ${MARGIN}px 0 ${left + MARGIN}px`,
        }}
      >
        {drawn.map(({ panel, frames, place }) =>
          panel.type === 'row' ? (
            <h6 key={panel.id} style={{ position: 'absolute', lineHeight: `${UNIT}px`, ...place }}>
              {panel.title}
            </h6>
          ) : (
            <div key={panel.id} data-panel={panel.title} style={{ position: 'absolute', ...place }}>
              <PanelChrome
                title={panel.title}
                description={panel.description}
                width={place.width}
                height={place.height}
                padding={panel.type === 'table' ? 'none' : 'md'}
                displayMode={panel.transparent ? 'transparent' : 'default'}
              >
                {(width, height) => (
                  <Content panel={panel} frames={frames} range={range} width={width} height={height} />
                )}
              </PanelChrome>
            </div>
          ),
        )}
      </div>
    </ThemeContext.Provider>
  );
}

function menuOf(width) {
  return width < NARROW ? 0 : MENU;
}

/** Where each panel is, in pixels. On a narrow page, each has its own line. */
function placesOf(panels, width) {
  if (width < NARROW) {
    let top = 0;
    return panels.map(({ gridPos: { h } }) => {
      const place = { left: 0, top, width, height: heightOf(h) };
      top += place.height + GAP;
      return place;
    });
  }
  const column = (width - GAP * (COLUMNS - 1)) / COLUMNS;
  return panels.map(({ gridPos: { x, y, w, h } }) => ({
    left: x * (column + GAP),
    top: y * (UNIT + GAP),
    width: w * column + (w - 1) * GAP,
    height: heightOf(h),
  }));
}

function heightOf(rows) {
  return rows * UNIT + (rows - 1) * GAP;
}
