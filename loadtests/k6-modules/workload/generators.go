package workload

import "math"

// generator returns the next number. Each equals the generator of that name in packages/workload and in YCSB.
type generator func() int64

func constant(value int64) generator { return func() int64 { return value } }

// uniform is from low to high, both included.
func uniform(random *Random, low, high int64) generator {
	return func() int64 { return random.Below(high-low+1) + low }
}

// zipfianRange is from low to high, both included; lower numbers are more likely.
func zipfianRange(random *Random, low, high int64) generator {
	items := float64(high - low + 1)
	z := newZipfian(random, items, zeta(items))
	return func() int64 { return low + int64(z.next(items)) }
}

// scrambledZipfian distributes the popularity of 10^10 items by hash over low to high.
func scrambledZipfian(random *Random, low, high int64) generator {
	z := newZipfian(random, scrambledItems+1, scrambledZeta)
	items := uint64(high - low + 1) //nolint:gosec // positive
	return func() int64 {
		return low + int64(hash(int64(z.next(scrambledItems+1)))%items) //nolint:gosec // below items
	}
}

// skewedLatest is zipfian, counted back from the newest item.
func skewedLatest(random *Random, last func() int64) generator {
	items := float64(last())
	z := newZipfian(random, items, zeta(items))
	return func() int64 {
		newest := last()
		return newest - int64(z.next(float64(newest)))
	}
}

// hotspot gives the first `dataFraction` of low to high the share `operationFraction` of the draws.
func hotspot(random *Random, low, high int64, dataFraction, operationFraction float64) generator {
	interval := high - low + 1
	hot := int64(float64(interval) * dataFraction)
	return func() int64 {
		if random.Double() < operationFraction {
			return low + random.Below(hot)
		}
		return low + hot + random.Below(interval-hot)
	}
}

// exponentialBack is how far back from the newest item, exponentially: `percentile` % of the draws are within `span`.
func exponentialBack(random *Random, percentile, span float64) generator {
	gamma := -logOf(1-percentile/100) / span
	return func() int64 {
		draw := random.Double()
		if draw == 0 {
			// YCSB's infinity, which becomes the largest int.
			return math.MaxInt32
		}
		return int64(wholePart(-math.Log(draw)/gamma, func() float64 { return -logOf(draw) / gamma }))
	}
}

// sequential is from low to high, again and again.
func sequential(low, high, first, step int64) generator {
	counter := first
	return func() int64 {
		value := low + counter%(high-low+1)
		counter += step
		return value
	}
}

// histogram draws lengths as counted in blocks: buckets[i] of them have up to i + 1 blocks.
func histogram(random *Random, counts Histogram) generator {
	area := int64(0)
	for _, count := range counts.Buckets {
		area += count
	}
	last := len(counts.Buckets) - 1
	return func() int64 {
		number := random.Below(area)
		for index := range last {
			number -= counts.Buckets[index]
			if number <= 0 {
				return int64(index+1) * counts.BlockSize
			}
		}
		return int64(last) * counts.BlockSize
	}
}

// until draws until a number is right.
func until(right func(int64) bool, draw generator) generator {
	return func() int64 {
		for {
			if number := draw(); right(number) {
				return number
			}
		}
	}
}
