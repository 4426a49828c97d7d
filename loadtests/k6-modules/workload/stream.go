package workload

import "errors"

// Type is the type of an operation.
type Type int

// The types, in the order in which YCSB draws.
const (
	Read Type = iota
	Update
	Insert
	Scan
	ReadModifyWrite
	types
)

// String is the name of the type in packages/workload.
func (t Type) String() string {
	return [types]string{"read", "update", "insert", "scan", "readModifyWrite"}[t]
}

// Operation is one operation on a table. It is valid until the next call of Next.
type Operation struct {
	Type Type
	Key  []byte
	// Field is the only field that is read or scanned. Empty: all of them.
	Field string
	// Count is the number of records of a scan.
	Count int64
	// Values are the fields that are written.
	Values []Value
}

// Value is one field of a record.
type Value struct {
	Name string
	Text []byte
}

// Stream is an endless stream of the operations of one thread. It is not safe for concurrent use.
type Stream struct {
	workload *Workload
	random   *Random
	inserts  *inserts
	fields   []string
	hashed   bool

	weights      []weight
	chooseNumber generator
	chooseScan   generator
	chooseLength generator

	operation Operation
	// text has the values of the current operation.
	text []byte
}

type weight struct {
	part float64
	of   Type
}

// NewStream makes the stream of one thread among `threads`. Threads insert different records and do not affect each
// other.
func NewStream(workload *Workload, seed int64, thread, threads int) (*Stream, error) {
	if thread < 0 || thread >= threads {
		return nil, errors.New("workload: the thread must be below the number of threads")
	}
	if err := workload.check(); err != nil {
		return nil, err
	}
	random := NewRandom(seed, int64(thread), int64(threads))
	s := &Stream{
		workload: workload,
		random:   random,
		inserts:  &inserts{start: workload.RecordCount, thread: int64(thread), threads: int64(threads)},
		fields:   FieldNames(workload.FieldCount),
		hashed:   workload.InsertOrder == "hashed",
	}
	sum := 0.0
	for _, share := range workload.shares() {
		sum += share
	}
	for of, share := range workload.shares() {
		if share > 0 {
			s.weights = append(s.weights, weight{share / sum, Type(of)})
		}
	}
	var errs [3]error
	s.chooseLength, errs[0] = workload.fieldLengths(random)
	s.chooseNumber, errs[1] = workload.numbers(random, s.inserts, int64(thread), int64(threads))
	s.chooseScan, errs[2] = workload.scanLengths(random)
	return s, errors.Join(errs[:]...)
}

// Next draws the next operation, which means that the previous one has ended.
func (s *Stream) Next() *Operation {
	s.inserts.acknowledge()
	operation := &s.operation
	operation.Values, operation.Field, operation.Count = operation.Values[:0], "", 0
	s.text = s.text[:0]
	operation.Type = s.chooseType()
	if operation.Type == Insert {
		s.setKey(s.inserts.next())
		s.drawAll()
		return operation
	}
	s.setKey(s.inserts.present(s.chooseNumber()))
	switch operation.Type {
	case Update:
		s.drawWritten()
	case Scan:
		operation.Count = s.chooseScan()
		s.drawField()
	case ReadModifyWrite:
		s.drawField()
		s.drawWritten()
	default:
		s.drawField()
	}
	return operation
}

func (s *Stream) chooseType() Type {
	draw := s.random.Double()
	for _, each := range s.weights {
		if draw < each.part {
			return each.of
		}
		draw -= each.part
	}
	// Rounding may leave a last part.
	return s.weights[len(s.weights)-1].of
}

func (s *Stream) setKey(number int64) {
	s.operation.Key = appendKey(s.operation.Key[:0], number, s.hashed, s.workload.ZeroPadding)
}

func (s *Stream) drawField() {
	if !s.workload.ReadAllFields {
		s.operation.Field = s.name()
	}
}

func (s *Stream) drawWritten() {
	if s.workload.WriteAllFields {
		s.drawAll()
		return
	}
	s.drawValue(s.name())
}

func (s *Stream) drawAll() {
	for _, name := range s.fields {
		s.drawValue(name)
	}
}

func (s *Stream) name() string {
	return s.fields[s.random.Below(int64(len(s.fields)))]
}

func (s *Stream) drawValue(name string) {
	length := int(s.chooseLength())
	begin := len(s.text)
	if s.workload.DataIntegrity {
		s.text = appendDeterministicValue(s.text, s.operation.Key, name, length)
	} else {
		s.text = appendRandomValue(s.text, s.random, length)
	}
	s.operation.Values = append(s.operation.Values, Value{name, s.text[begin:]})
}

// inserts numbers records that are inserted during a run, as the class Inserts of packages/workload does.
type inserts struct {
	start, thread, threads int64
	taken, acknowledged    int64
}

func (i *inserts) next() int64 {
	number := i.start + i.thread + i.taken*i.threads
	i.taken++
	return number
}

func (i *inserts) acknowledge() { i.acknowledged = i.taken }

// last is the highest number that exists.
func (i *inserts) last() int64 { return i.start - 1 + i.acknowledged*i.threads }

// present is the number to read instead of `number`, which is at most last.
func (i *inserts) present(number int64) int64 {
	if number < i.start {
		return number
	}
	return number - (number-i.start)%i.threads + i.thread
}
