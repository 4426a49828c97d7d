package workload

import "math"

// Variables, because Go computes with constants exactly, and JavaScript and Java compute with doubles.
var (
	theta = 0.99
	alpha = 1 / (1 - theta)
	// second is the bound of the second item: 1 + 0.5^theta.
	second  = 1 + power(0.5, theta)
	zetaTwo = zeta(2)
)

const (
	// riemann is Riemann's zeta function of theta as a double has it.
	riemann = -99.4235129777281
	summed  = 100

	scrambledItems = 10_000_000_000
	scrambledZeta  = 26.46902820178302
)

// zeta is the sum of 1 / i^theta for i from 1 to `items`. Above 100 items it uses the Euler-Maclaurin formula, as
// packages/workload/src/zipfian.ts does.
func zeta(items float64) float64 {
	if items <= summed {
		sum := 0.0
		for item := 1.0; item <= items; item++ {
			sum += 1 / power(item, theta)
		}
		return sum
	}
	tail := power(items, 1-theta)
	last := tail / items
	first := theta * last / items
	third := float64(first*(theta+1)*(theta+2)) / float64(items*items)
	return riemann + tail/(1-theta) + last/2 - first/12 + third/720
}

// zipfian is YCSB's ZipfianGenerator: 0 is the most popular item. The number of items may grow, and eta keeps the
// first one.
type zipfian struct {
	random  *Random
	counted float64
	zeta    float64
	eta     float64
	// base is the numerator of eta, which does not change. 0: of up to two items none is drawn by eta.
	base float64
}

func newZipfian(random *Random, items, zetaOfItems float64) *zipfian {
	z := &zipfian{random: random, counted: items, zeta: zetaOfItems}
	if items > 2 {
		z.base = 1 - power(2/items, 1-theta)
	}
	z.update()
	return z
}

func (z *zipfian) update() {
	if z.base != 0 {
		z.eta = z.base / (1 - zetaTwo/z.zeta)
	}
}

func (z *zipfian) next(items float64) float64 {
	if items > z.counted {
		z.counted = items
		z.zeta = zeta(items)
		z.update()
	}
	draw := z.random.Double()
	scaled := draw * z.zeta
	if scaled < 1 {
		return 0
	}
	if scaled < second {
		return 1
	}
	// The conversion prevents a fused multiplication and addition, which some processors round differently.
	base := float64(z.eta*draw) - z.eta + 1
	return wholePart(items*math.Pow(base, alpha), func() float64 { return items * power(base, alpha) })
}
