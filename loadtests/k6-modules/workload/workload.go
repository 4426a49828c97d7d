// Package workload draws the operations of YCSB's CoreWorkload. It is packages/workload in Go: the same seed gives the
// same operations, draw for draw. The vectors in packages/workload/test/vectors.json hold both equal.
//
// It takes workloads as packages/workload parses them, and does not read property files.
package workload

import (
	"errors"
	"fmt"
	"math"
)

// Workload is the type RecordWorkload of packages/workload.
type Workload struct {
	RecordCount         int64       `js:"recordCount" json:"recordCount"`
	OperationCount      int64       `js:"operationCount" json:"operationCount"`
	InsertStart         int64       `js:"insertStart" json:"insertStart"`
	InsertCount         int64       `js:"insertCount" json:"insertCount"`
	InsertOrder         string      `js:"insertOrder" json:"insertOrder"`
	ZeroPadding         int         `js:"zeroPadding" json:"zeroPadding"`
	FieldCount          int         `js:"fieldCount" json:"fieldCount"`
	FieldLength         FieldLength `js:"fieldLength" json:"fieldLength"`
	ReadAllFields       bool        `js:"readAllFields" json:"readAllFields"`
	WriteAllFields      bool        `js:"writeAllFields" json:"writeAllFields"`
	DataIntegrity       bool        `js:"dataIntegrity" json:"dataIntegrity"`
	Mix                 Mix         `js:"mix" json:"mix"`
	RequestDistribution string      `js:"requestDistribution" json:"requestDistribution"`
	Hotspot             Hotspot     `js:"hotspot" json:"hotspot"`
	Exponential         Exponential `js:"exponential" json:"exponential"`
	ScanLength          Lengths     `js:"scanLength" json:"scanLength"`
}

// Lengths is a distribution from Minimum to Maximum, both included.
type Lengths struct {
	Distribution string `js:"distribution" json:"distribution"`
	Minimum      int64  `js:"minimum" json:"minimum"`
	Maximum      int64  `js:"maximum" json:"maximum"`
}

// FieldLength is the length of a value in bytes.
type FieldLength struct {
	Distribution string     `js:"distribution" json:"distribution"`
	Minimum      int64      `js:"minimum" json:"minimum"`
	Maximum      int64      `js:"maximum" json:"maximum"`
	Histogram    *Histogram `js:"histogram" json:"histogram"`
}

// Histogram counts lengths in blocks.
type Histogram struct {
	BlockSize int64   `js:"blockSize" json:"blockSize"`
	Buckets   []int64 `js:"buckets" json:"buckets"`
}

// Mix has the shares of the operations, which add up to 1.
type Mix struct {
	Read            float64 `js:"read" json:"read"`
	Update          float64 `js:"update" json:"update"`
	Insert          float64 `js:"insert" json:"insert"`
	Scan            float64 `js:"scan" json:"scan"`
	ReadModifyWrite float64 `js:"readModifyWrite" json:"readModifyWrite"`
}

// Hotspot has the parameters of that distribution.
type Hotspot struct {
	DataFraction      float64 `js:"dataFraction" json:"dataFraction"`
	OperationFraction float64 `js:"operationFraction" json:"operationFraction"`
}

// Exponential has the parameters of that distribution.
type Exponential struct {
	Percentile float64 `js:"percentile" json:"percentile"`
	Fraction   float64 `js:"fraction" json:"fraction"`
}

const (
	maxRecords     = math.MaxInt32
	maxFields      = 1000
	maxFieldLength = 1 << 20
	mixTolerance   = 1e-6
)

// check refuses what the generators cannot draw from, and names the first value that is wrong. packages/workload checks property files, with better messages.
func (w *Workload) check() error {
	for _, value := range []struct {
		name  string
		wrong bool
	}{
		{"recordCount", w.RecordCount < 1 || w.RecordCount > maxRecords},
		{"operationCount", w.OperationCount < 0 || w.OperationCount > maxRecords},
		{"insertStart", w.InsertStart < 0},
		{"insertCount", w.InsertCount < 1 || w.InsertStart+w.InsertCount > w.RecordCount},
		{"insertOrder", w.InsertOrder != "hashed" && w.InsertOrder != "ordered"},
		{"zeroPadding", w.ZeroPadding < 0 || w.ZeroPadding > 100},
		{"fieldCount", w.FieldCount < 1 || w.FieldCount > maxFields},
		{"fieldLength.minimum", w.FieldLength.Minimum < 0},
		{"fieldLength.maximum", w.FieldLength.Maximum < 1 || w.FieldLength.Maximum > maxFieldLength},
		{"scanLength", w.ScanLength.Minimum < 1 || w.ScanLength.Maximum < w.ScanLength.Minimum},
		{"exponential.percentile", w.Exponential.Percentile <= 0 || w.Exponential.Percentile >= 100},
		{"exponential.fraction", w.Exponential.Fraction <= 0 || w.Exponential.Fraction > 1},
	} {
		if value.wrong {
			return fmt.Errorf("workload: %s is missing or out of range", value.name)
		}
	}
	sum := 0.0
	for _, share := range w.shares() {
		if share < 0 {
			return errors.New("workload: mix: a share is negative")
		}
		sum += share
	}
	if math.Abs(sum-1) > mixTolerance {
		return fmt.Errorf("workload: mix: the shares add up to %v, not to 1", sum)
	}
	return nil
}

// shares are in the order in which YCSB draws.
func (w *Workload) shares() [types]float64 {
	return [types]float64{w.Mix.Read, w.Mix.Update, w.Mix.Insert, w.Mix.Scan, w.Mix.ReadModifyWrite}
}

func (w *Workload) fieldLengths(random *Random) (generator, error) {
	length := w.FieldLength
	switch length.Distribution {
	case "constant":
		return constant(length.Maximum), nil
	case "uniform":
		if length.Minimum <= length.Maximum {
			return uniform(random, length.Minimum, length.Maximum), nil
		}
	case "zipfian":
		if length.Minimum <= length.Maximum {
			return zipfianRange(random, length.Minimum, length.Maximum), nil
		}
	case "histogram":
		if length.Histogram != nil && len(length.Histogram.Buckets) > 0 {
			return histogram(random, *length.Histogram), nil
		}
	}
	return nil, fmt.Errorf("workload: fieldLength: cannot draw %q lengths from %+v", length.Distribution, length)
}

func (w *Workload) scanLengths(random *Random) (generator, error) {
	length := w.ScanLength
	switch length.Distribution {
	case "uniform":
		return uniform(random, length.Minimum, length.Maximum), nil
	case "zipfian":
		return zipfianRange(random, length.Minimum, length.Maximum), nil
	}
	return nil, fmt.Errorf("workload: scanLength: %q is unknown: use uniform or zipfian", length.Distribution)
}

// numbers is CoreWorkload's keychooser and nextKeynum: numbers of existing records.
func (w *Workload) numbers(random *Random, inserts *inserts, thread, threads int64) (generator, error) {
	last := inserts.last
	end := w.InsertStart + w.InsertCount - 1
	there := func(number int64) bool { return number <= last() }
	switch w.RequestDistribution {
	case "uniform":
		return until(there, uniform(random, w.InsertStart, end)), nil
	case "sequential":
		return until(there, sequential(w.InsertStart, end, thread, threads)), nil
	case "zipfian":
		// Space for twice the expected inserts, so that the popular keys stay the same.
		expected := int64(float64(w.OperationCount) * w.Mix.Insert * 2)
		return until(there, scrambledZipfian(random, w.InsertStart, end+1+expected)), nil
	case "latest":
		return until(there, skewedLatest(random, last)), nil
	case "hotspot":
		hot := int64(float64(w.InsertCount) * w.Hotspot.DataFraction)
		share := w.Hotspot.OperationFraction
		if hot < 0 || hot > w.InsertCount || (hot == 0 && share > 0) || (hot == w.InsertCount && share < 1) {
			return nil, fmt.Errorf("workload: hotspot: %+v leaves no records to draw from", w.Hotspot)
		}
		return until(there, hotspot(random, w.InsertStart, end, w.Hotspot.DataFraction, share)), nil
	case "exponential":
		back := exponentialBack(random, w.Exponential.Percentile, float64(w.RecordCount)*w.Exponential.Fraction)
		existing := func(number int64) bool { return number >= 0 }
		return until(existing, func() int64 { return last() - back() }), nil
	}
	return nil, fmt.Errorf("workload: requestDistribution: %q is unknown", w.RequestDistribution)
}
