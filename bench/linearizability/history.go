package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Largest line of a history, bytes. The program that records it writes lines below 1 KiB.
const maxLine = 1 << 20

// Most operations of a history. 1,000,000 need about 500 MiB.
const maxOperations = 1_000_000

// header is the first line: what the store declares about its writes.
type header struct {
	// InsertIsUpsert: an insert of an existing key writes its fields. No write then reports whether the key existed.
	InsertIsUpsert bool `json:"insertIsUpsert"`
	// UpdateIsUpsert: an update of a missing key creates the record.
	UpdateIsUpsert bool `json:"updateIsUpsert"`
}

// operation is one further line.
type operation struct {
	Client int               `json:"client"`
	Key    string            `json:"key"`
	Type   string            `json:"type"`
	Fields map[string]string `json:"fields"`
	// Call and Return are nanoseconds of one clock. Return is nil if the outcome is unknown: the write can take effect at any
	// time after the call, or never.
	Call   int64  `json:"call"`
	Return *int64 `json:"return"`
	// Done: a read found the record; an insert created it; an update or a delete found it.
	Done bool `json:"done"`
	// Found has the fields that a read returned.
	Found map[string]string `json:"found"`

	// The number of the line without the header, from 0.
	index int
}

// history has the operations of each key, in the order of the lines.
type history struct {
	header header
	keys   []string
	byKey  map[string][]*operation
	count  int
}

// readHistory reads NDJSON: a header, then one operation in each line. It returns an error that names the line for
// anything else.
func readHistory(input io.Reader) (*history, error) {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 64*1024), maxLine)
	result := &history{byKey: map[string][]*operation{}}
	for number := 1; lines.Scan(); number++ {
		var err error
		if number == 1 {
			err = json.Unmarshal(lines.Bytes(), &result.header)
		} else {
			err = result.add(lines.Bytes())
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the history: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the history cannot be read: %w", err)
	}
	return result, nil
}

func (h *history) add(line []byte) error {
	if h.count == maxOperations {
		return fmt.Errorf("a history has at most %d operations", maxOperations)
	}
	each := &operation{index: h.count}
	if err := json.Unmarshal(line, each); err != nil {
		return err
	}
	if err := each.check(); err != nil {
		return err
	}
	if _, known := h.byKey[each.Key]; !known {
		h.keys = append(h.keys, each.Key)
	}
	h.byKey[each.Key] = append(h.byKey[each.Key], each)
	h.count++
	return nil
}

func (o *operation) check() error {
	switch o.Type {
	case "read", "insert", "update", "delete":
	default:
		return fmt.Errorf("the type of an operation is read, insert, update or delete, not %q", o.Type)
	}
	if o.Return != nil && *o.Return < o.Call {
		return fmt.Errorf("the operation ended at %d, before its call at %d", *o.Return, o.Call)
	}
	if o.Return == nil && o.Type == "read" {
		return fmt.Errorf("a read without a result has no meaning: leave it out")
	}
	return nil
}
