const FEWEST = 25;

/**
 * The probability that two samples of one distribution differ as much as these (chi-square test of homogeneity). Rare
 * values share a class with their neighbours.
 */
export function sameLaw(left: ReadonlyMap<number, number>, right: ReadonlyMap<number, number>): number {
  const classes: [number, number][] = [];
  let open: [number, number] = [0, 0];
  for (const value of [...new Set([...left.keys(), ...right.keys()])].sort((a, b) => a - b)) {
    open = [open[0] + (left.get(value) ?? 0), open[1] + (right.get(value) ?? 0)];
    if (open[0] + open[1] < FEWEST) continue;
    classes.push(open);
    open = [0, 0];
  }
  if (open[0] + open[1] > 0) classes.push(open);
  const [sumLeft, sumRight] = classes.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  let statistic = 0;
  for (const [a, b] of classes) {
    const share = (a + b) / (sumLeft + sumRight);
    statistic +=
      (a - sumLeft * share) ** 2 / (sumLeft * share) + (b - sumRight * share) ** 2 / (sumRight * share);
  }
  if (classes.length < 2) throw new RangeError('the test needs at least two classes');
  return upperTail(statistic, classes.length - 1);
}

/** P(chi-square with `freedom` degrees > x), by Wilson and Hilferty's cube root. Error below 0.001 above 10 degrees. */
function upperTail(x: number, freedom: number): number {
  const spread = 2 / (9 * freedom);
  const z = ((x / freedom) ** (1 / 3) - (1 - spread)) / Math.sqrt(spread);
  return 1 - normal(z);
}

/** The standard normal distribution function, by Abramowitz and Stegun 26.2.17. */
function normal(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return z < 0 ? tail : 1 - tail;
}
