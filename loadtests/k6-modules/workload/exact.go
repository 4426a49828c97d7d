package workload

import (
	"math"
	"math/big"
)

// This file is packages/workload/src/exact.ts in Go. The last bits of a power or a logarithm differ between engines
// and processors, and draws are rounded down to whole numbers. Where the last bits decide, the result is computed with
// whole numbers, so that all engines draw the same.

const (
	fractionBits = 100
	mantissaBits = 53
	// doubt is far more than the error of any engine's power or logarithm.
	doubt = 1e-12
)

var (
	one = new(big.Int).Lsh(big.NewInt(1), fractionBits)
	ln2 = logarithmOf(big.NewInt(2), big.NewInt(1))
)

// wholePart is the whole part of a positive number that was computed as `approximate`. `exact` is called when that is
// too close to a whole number.
func wholePart(approximate float64, exact func() float64) float64 {
	whole := math.Floor(approximate)
	margin := approximate * doubt
	part := approximate - whole
	if part > margin && part < 1-margin {
		return whole
	}
	return math.Floor(exact())
}

// power is x to the power of y, correctly rounded except for one case in 2^40. x is positive.
func power(x, y float64) float64 {
	if x == 1 {
		return 1
	}
	mantissa, scale := asInteger(y)
	product := new(big.Int).Mul(logarithm(x), mantissa)
	if scale >= 0 {
		return exponential(product.Lsh(product, uint(scale)))
	}
	return exponential(product.Rsh(product, uint(-scale)))
}

// logOf is the natural logarithm of a positive number.
func logOf(x float64) float64 {
	return toFloat(logarithm(x), -fractionBits)
}

// asInteger returns a finite number as a whole mantissa times two to the power of scale.
func asInteger(x float64) (*big.Int, int) {
	scale := 0
	for x != 0 && math.Abs(x) < 1<<(mantissaBits-1) {
		x *= 2
		scale--
	}
	return big.NewInt(int64(x)), scale
}

// logarithm is in units of 2^-fractionBits.
func logarithm(x float64) *big.Int {
	mantissa, scale := asInteger(x)
	unit := big.NewInt(1 << (mantissaBits - 1))
	// x = mantissa / unit * 2^(scale + 52), with mantissa / unit in [1, 2).
	twos := new(big.Int).Mul(big.NewInt(int64(scale+mantissaBits-1)), ln2)
	return twos.Add(twos, logarithmOf(mantissa, unit))
}

// logarithmOf is ln(p / q) = 2 artanh((p - q) / (p + q)), for p / q from 1 to 2.
func logarithmOf(p, q *big.Int) *big.Int {
	t := new(big.Int).Sub(p, q)
	t.Lsh(t, fractionBits).Quo(t, new(big.Int).Add(p, q))
	square := new(big.Int).Mul(t, t)
	square.Rsh(square, fractionBits)
	sum, term, part := new(big.Int), new(big.Int).Set(t), new(big.Int)
	for n := int64(1); term.Sign() != 0; n += 2 {
		sum.Add(sum, part.Quo(term, big.NewInt(n)))
		term.Mul(term, square).Rsh(term, fractionBits)
	}
	return sum.Lsh(sum, 1)
}

func exponential(x *big.Int) float64 {
	halvings := new(big.Int).Quo(x, ln2)
	if x.Sign() < 0 {
		halvings.Sub(halvings, big.NewInt(1))
	}
	rest := new(big.Int).Mul(halvings, ln2)
	rest.Sub(x, rest)
	sum, term := new(big.Int), new(big.Int).Set(one)
	for n := int64(1); term.Sign() != 0; n++ {
		sum.Add(sum, term)
		term.Mul(term, rest).Rsh(term, fractionBits)
		term.Quo(term, big.NewInt(n))
	}
	return toFloat(sum, int(halvings.Int64())-fractionBits)
}

// toFloat is value * 2^scale, rounded as exact.ts rounds it.
func toFloat(value *big.Int, scale int) float64 {
	magnitude := new(big.Int).Abs(value)
	if more := magnitude.BitLen() - mantissaBits - 1; more > 0 {
		magnitude.Rsh(magnitude, uint(more))
		scale += more
	}
	for magnitude.BitLen() > mantissaBits {
		magnitude.Add(magnitude, big.NewInt(1)).Rsh(magnitude, 1)
		scale++
	}
	result := math.Ldexp(float64(magnitude.Int64()), scale)
	if value.Sign() < 0 {
		return -result
	}
	return result
}
