package workload

import "strconv"

const groupSize = 6

// FieldNames are field0 to the last one.
func FieldNames(count int) []string {
	names := make([]string, count)
	for index := range names {
		names[index] = "field" + strconv.Itoa(index)
	}
	return names
}

// appendRandomValue appends ASCII characters as YCSB's RandomByteIterator draws them: six of 32 random bits.
func appendRandomValue(to []byte, random *Random, length int) []byte {
	end := len(to) + length
	for len(to) < end {
		bits := random.Bits()
		to = append(to,
			byte(32+bits&31), byte(32+bits>>5&63),
			byte(32+bits>>10&95), byte(32+bits>>15&31),
			byte(32+bits>>20&63), byte(32+bits>>25&95))
	}
	return to[:end]
}

// appendDeterministicValue appends the value of a field with data integrity: YCSB's buildDeterministicValue. It consists
// of key and field, then repeatedly the hash (Java's String.hashCode) of the text so far, up to `length`.
func appendDeterministicValue(to, key []byte, field string, length int) []byte {
	begin := len(to)
	to = append(append(append(to, key...), ':'), field...)
	sum := javaHash(0, to[begin:])
	for len(to)-begin < length {
		more := len(to)
		to = append(to, ':')
		sum = javaHash(sum, to[more:])
		more = len(to)
		to = strconv.AppendInt(to, int64(sum), 10)
		sum = javaHash(sum, to[more:])
	}
	return to[:begin+length]
}

// javaHash is the hash of a text with `more` appended, from the hash of the text.
func javaHash(sum int32, more []byte) int32 {
	for _, character := range more {
		sum = sum*31 + int32(character)
	}
	return sum
}

// IsIntact reports whether the fields that were read are correct: all requested fields are present, each with the value
// that follows from its key and name. An empty `field` requests all fields.
func (w *Workload) IsIntact(key []byte, field string, found map[string]any) bool {
	names := []string{field}
	if field == "" {
		names = FieldNames(w.FieldCount)
	}
	var value []byte
	for _, name := range names {
		value = appendDeterministicValue(value[:0], key, name, int(w.FieldLength.Maximum))
		if text, ok := found[name].(string); !ok || text != string(value) {
			return false
		}
	}
	return true
}
