package workload

import "math"

const warmUp = 15

// Random is a repeatable random source: Chris Doty-Humphrey's sfc32, as in packages/workload/src/random.ts. The same
// seed and streams give the same draws. It is not for secrets and not safe for concurrent use.
type Random struct {
	a, b, c, counter uint32
}

// NewRandom returns the source of a seed and its streams, such as a thread and the number of threads.
func NewRandom(seed int64, streams ...int64) *Random {
	r := &Random{a: 0x9e3779b9, b: 0x243f6a88, c: 0xb7e15162, counter: 1}
	r.stir(seed)
	for _, stream := range streams {
		r.stir(stream)
	}
	return r
}

func (r *Random) stir(number int64) {
	r.a ^= uint32(number)       //nolint:gosec // the low half
	r.b ^= uint32(number >> 32) //nolint:gosec // the high half
	for range warmUp {
		r.Bits()
	}
}

// Bits returns 32 random bits.
func (r *Random) Bits() uint32 {
	sum := r.a + r.b + r.counter
	r.counter++
	r.a = r.b ^ r.b>>9
	r.b = r.c + r.c<<3
	r.c = (r.c<<21 | r.c>>11) + sum
	return sum
}

// Double is uniform in [0, 1), with 53 bits.
func (r *Random) Double() float64 {
	high := uint64(r.Bits() >> 5)
	return float64(high<<26|uint64(r.Bits()>>6)) / (1 << 53)
}

// Below is uniform from 0 to bound - 1, for a bound up to 2^53.
func (r *Random) Below(bound int64) int64 {
	return int64(math.Floor(r.Double() * float64(bound)))
}
