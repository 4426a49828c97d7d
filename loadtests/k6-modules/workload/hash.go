package workload

import "strconv"

const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// hash is YCSB's Utils.fnvhash64: FNV of the eight octets of a number, and the absolute value of the signed result.
func hash(value int64) uint64 {
	sum := uint64(fnvBasis)
	octets := uint64(value) //nolint:gosec // not negative
	for range 8 {
		sum = (sum ^ octets&0xff) * fnvPrime
		octets >>= 8
	}
	if signed := int64(sum); signed < 0 { //nolint:gosec // two's complement on purpose
		return -sum
	}
	return sum
}

// appendKey appends the key of a record as YCSB names it: "user", then its number or the hash of its number, padded
// with zeros on the left to `padding` digits.
func appendKey(to []byte, number int64, hashed bool, padding int) []byte {
	value := uint64(number) //nolint:gosec // not negative
	if hashed {
		value = hash(number)
	}
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], value, 10)
	to = append(to, "user"...)
	for missing := padding - len(text); missing > 0; missing-- {
		to = append(to, '0')
	}
	return append(to, text...)
}
