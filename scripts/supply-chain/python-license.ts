import { isExpression } from './licenses.ts';

/** What a Python package states about its licence. */
export interface PythonMetadata {
  /** `License-Expression`, SPDX. */
  readonly expression: string | null;
  /** The first line of `License`, any text. */
  readonly license: string | null;
  /** Classifiers that begin with `License ::`. */
  readonly classifiers: readonly string[];
}

/** Texts of `License`, and ends of classifiers, as SPDX. The classifier of BSD does not tell its number of clauses. */
const NAMES: Readonly<Record<string, string>> = {
  'BSD 3-Clause License': 'BSD-3-Clause',
  '2-clause BSD': 'BSD-2-Clause',
  'BSD License': 'LicenseRef-BSD',
  'MIT License': 'MIT',
  'Apache Software License': 'Apache-2.0',
  'Mozilla Public License 2.0 (MPL 2.0)': 'MPL-2.0',
  'Python Software Foundation License': 'PSF-2.0',
};

/** The licence of a Python package as an SPDX expression; what the package states when it is none; null for nothing. */
export function pythonLicense({ expression, license, classifiers }: PythonMetadata): string | null {
  if (expression !== null) return expression;
  if (license !== null && isExpression(license)) return license;
  const stated = [license ?? '', ...classifiers.map((each) => each.split(' :: ').at(-1)!)];
  const known = stated.flatMap((name) => NAMES[name] ?? []);
  return known[0] ?? stated.find((name) => name !== '') ?? null;
}
