import parse, { type Info } from 'spdx-expression-parse';

/** Licences that a dependency in production may have, by their SPDX identifiers, with the reason where one is needed. */
export const ALLOWED: Readonly<Record<string, string>> = {
  MIT: '',
  'MIT-0': '',
  'MIT-CMU': '',
  'Apache-2.0': '',
  'BSD-2-Clause': '',
  'BSD-3-Clause': '',
  'LicenseRef-BSD': 'a BSD licence whose number of clauses the package does not state',
  ISC: '',
  '0BSD': '',
  Zlib: '',
  'CC0-1.0': '',
  'BlueOak-1.0.0': '',
  'PSF-2.0': '',
  'MPL-2.0': 'files that we do not change',
  'LGPL-2.1-or-later': 'a library that we do not change, in a folder where users can replace it',
};

/** Whether a text is an SPDX licence expression (SPDX 2.3, annex D). */
export function isExpression(text: string): boolean {
  return tryParse(text) !== null;
}

/** Whether a licence expression can be fulfilled with allowed licences: all of an AND, one of an OR. */
export function isAllowed(expression: string): boolean {
  const parsed = tryParse(expression);
  return parsed !== null && fulfils(parsed);
}

function fulfils(info: Info): boolean {
  if ('conjunction' in info) {
    const sides = [fulfils(info.left), fulfils(info.right)];
    return info.conjunction === 'and' ? sides.every(Boolean) : sides.some(Boolean);
  }
  return Object.hasOwn(ALLOWED, info.license);
}

function tryParse(text: string): Info | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}
