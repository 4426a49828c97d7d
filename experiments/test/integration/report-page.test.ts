import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Browser, startBrowser } from '@tidegauge/lab/chromium';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';
import { PYTHON, setUpAnalysis } from '../../../scripts/setup.js';
import { printReport } from '../../src/report-pdf.ts';

const ANALYSIS = fileURLToPath(new URL('../../analysis/', import.meta.url));
/** The least contrast of text in WCAG 2.2, level AA. */
const LEAST_CONTRAST = 4.5;
const TIMEOUT_MS = 180_000;

const MAKE = `
import sys
from pathlib import Path
from sample_analysis import sample_analysis
from tidegauge_analysis.render import render
analysis, numbers = sample_analysis()
render(analysis, Path(sys.argv[1]), {'format': 1, 'sets': {}, 'numbers': numbers, 'files': analysis['files']})
`;

/**
 * The least contrast between text and the nearest opaque background around it, and the text that has it. Text in
 * figures has its colour in \`fill\`. Runs in the page.
 */
const FIND_LEAST_CONTRAST = `(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  let least = { contrast: 99, text: '' };
  for (const element of document.querySelectorAll('body, body *:not(script):not(style):not(title):not(desc)')) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join('').trim();
    if (text === '') continue;
    const style = getComputedStyle(element);
    const front = parse(element.closest('svg') ? style.fill : style.color);
    let around = element, back = [0, 0, 0, 0];
    while (around && (back.length === 4 && back[3] === 0)) {
      back = parse(getComputedStyle(around).backgroundColor);
      around = around.parentElement;
    }
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least.contrast) least = { contrast, text: text.slice(0, 60) };
  }
  return least;
})()`;

/** A4 without the margins of the style sheet, in CSS pixels. */
const PAPER = { width: 680, height: 994 };

/** The parts of the first screen whose end lies below it. Runs in the page. */
const FIND_BELOW = `['.question', '.words', '#fig-overview', '.limits'].filter((name) =>
  document.querySelector(name).getBoundingClientRect().bottom > innerHeight)`;

/** Scrolls each table that is wider than its box to its end, and returns how far its first column is from the edge. */
const SCROLL_TABLES = `[...document.querySelectorAll('.scroll')]
  .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth)
  .map((box) => {
    box.scrollLeft = box.scrollWidth;
    return box.querySelector('tbody th').getBoundingClientRect().left - box.getBoundingClientRect().left;
  })`;

/** Tables and figures of the printed page that are hidden, wider than the paper, or figures that are higher. */
const FIND_CUT = `[...document.querySelectorAll('table, figure')]
  .filter((part) => !part.closest('.screen-only'))
  .filter((part) => {
    const { right, height } = part.getBoundingClientRect();
    const isHigh = part.localName === 'figure' && height > ${PAPER.height};
    return !part.checkVisibility() || right > innerWidth + 1 || isHigh;
  })
  .map((part) => part.id)`;

describe('the report of an experiment in Chromium', () => {
  const directory = temporaryDirectory('report-page');
  const html = join(directory.path, 'report', 'report.html');
  let browser: Browser | undefined;

  before(async () => {
    await setUpAnalysis();
    runProgramSync(PYTHON, ['-c', MAKE, join(directory.path, 'report')], {
      cwd: join(ANALYSIS, 'tests'),
      timeoutMs: TIMEOUT_MS,
    });
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    directory.remove();
  });

  for (const width of [1280, 390]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`fits ${width} px, is readable and reports no error (${colorScheme})`, async () => {
        const { context, close } = await browser!.open({ viewport: { width, height: 900 }, colorScheme });
        try {
          const page = await context.newPage();
          const problems: string[] = [];
          page.on('console', (message) => problems.push(message.text()));
          page.on('pageerror', (error) => problems.push(error.message));
          page.on('request', (request) => {
            if (request.url() !== pathToFileURL(html).href) problems.push(`requested ${request.url()}`);
          });
          await page.goto(pathToFileURL(html).href);
          const wide = await page.evaluate('document.documentElement.scrollWidth');
          assert.equal(wide, width);
          const least = (await page.evaluate(FIND_LEAST_CONTRAST)) as { contrast: number; text: string };
          assert.ok(least.contrast >= LEAST_CONTRAST, JSON.stringify(least));
          assert.deepEqual(problems, []);
        } finally {
          await close();
        }
      });
    }
  }

  for (const viewport of [
    { width: 1366, height: 768 },
    { width: 390, height: 844 },
  ]) {
    test(`answers on the first screen of ${viewport.width} x ${viewport.height} px`, async () => {
      const { context, close } = await browser!.open({ viewport });
      try {
        const page = await context.newPage();
        await page.goto(pathToFileURL(html).href);
        assert.deepEqual(await page.evaluate(FIND_BELOW), []);
      } finally {
        await close();
      }
    });
  }

  test('a table that does not fit scrolls in its box, and its first column stays', async () => {
    const { context, close } = await browser!.open({ viewport: { width: 390, height: 844 } });
    try {
      const page = await context.newPage();
      await page.goto(pathToFileURL(html).href);
      const moved = (await page.evaluate(SCROLL_TABLES)) as number[];
      assert.ok(moved.length > 0);
      for (const distance of moved) assert.ok(Math.abs(distance) < 1, `moved by ${distance} px`);
    } finally {
      await close();
    }
  });

  test('in print, folded parts are open and nothing is cut', async () => {
    const { context, close } = await browser!.open({ viewport: PAPER });
    try {
      const page = await context.newPage();
      await page.emulateMedia({ media: 'print' });
      await page.goto(pathToFileURL(html).href);
      assert.deepEqual(await page.evaluate(FIND_CUT), []);
    } finally {
      await close();
    }
  });

  test('a number leads to its formula without a script', async () => {
    const { context, close } = await browser!.open();
    try {
      const page = await context.newPage();
      await page.goto(pathToFileURL(html).href);
      const number = page.locator('#comparisons a.n').first();
      const name = (await number.getAttribute('href'))!;
      await number.click();
      const row = page.locator(name);
      await row.waitFor({ state: 'visible' });
      const shown = await row.boundingBox();
      assert.ok(shown !== null && shown.y >= 0 && shown.y < 800, JSON.stringify(shown));
      assert.match(await row.innerText(), /^n\d+\s/);
    } finally {
      await close();
    }
  });

  test('prints as a PDF with pages and an outline', async () => {
    const pdf = await printReport(html);
    const bytes = readFileSync(pdf);
    assert.equal(bytes.subarray(0, 5).toString('latin1'), '%PDF-');
    const text = bytes.toString('latin1');
    assert.ok(text.match(/\/Type \/Page\b/g)!.length > 3);
    assert.match(text, /\/Outlines/);
    assert.equal(existsSync(`${pdf}.part`), false);
    rmSync(pdf);
  });

  test('a report that does not exist cannot be printed', async () => {
    await assert.rejects(printReport(join(directory.path, 'none.html')), /none\.html does not exist/);
  });
});
