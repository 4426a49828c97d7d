import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launchChromium } from '@tidegauge/lab/chromium';

const LOAD_TIMEOUT_MS = 60_000;

/**
 * Prints a report, which is one HTML file, as `report.pdf` beside it, with Chromium of the lab. Resolves to the path.
 * The style sheet of the page sets the paper and the page numbers. The file appears when it is complete.
 * @throws {Error} There is no such report, or the page cannot be printed.
 */
export async function printReport(html: string): Promise<string> {
  if (!existsSync(html)) throw new Error(`${html} does not exist: make the report first`);
  const pdf = join(dirname(html), 'report.pdf');
  const partial = `${pdf}.part`;
  const browser = await launchChromium({ colorScheme: 'light' });
  try {
    const page = await browser.context.newPage();
    page.setDefaultTimeout(LOAD_TIMEOUT_MS);
    await page.goto(pathToFileURL(html).href, { waitUntil: 'load' });
    await page.pdf({
      path: partial,
      preferCSSPageSize: true,
      printBackground: true,
      tagged: true,
      outline: true,
    });
    renameSync(partial, pdf);
    return pdf;
  } finally {
    rmSync(partial, { force: true });
    await browser.close();
  }
}
