package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// record is the state of one key. Texts of `fields` are sorted by name, so that equal records are equal texts.
type record struct {
	exists bool
	fields string
}

// separators of names and values in record.fields
const (
	valueMark = "\x00"
	fieldMark = "\x01"
)

// output is what a client received. Without it, the outcome is unknown.
type output struct {
	done  bool
	found string
}

// modelOf describes one record. It follows the contract of records in packages/storage/src/contract.ts.
func modelOf(store header) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return record{} },
		Step: func(state, input, result any) (bool, any) {
			answer, _ := result.(*output)
			return step(store, state.(record), input.(*operation), answer)
		},
		DescribeOperation: func(input, result any) string {
			answer, _ := result.(*output)
			return describe(input.(*operation), answer)
		},
		DescribeState: func(state any) string { return show(state.(record)) },
	}
}

func step(store header, state record, input *operation, answer *output) (bool, record) {
	// A store that writes without a read cannot report whether the key existed.
	reports := answer != nil && !store.InsertIsUpsert
	switch input.Type {
	case "read":
		return answer.done == state.exists && answer.found == state.fields, state
	case "insert":
		if reports && answer.done == state.exists {
			return false, state
		}
		if state.exists && !store.InsertIsUpsert {
			return true, state
		}
		return true, written(state, input)
	case "update":
		if reports && answer.done != state.exists {
			return false, state
		}
		if !state.exists && !store.UpdateIsUpsert {
			return true, state
		}
		return true, written(state, input)
	default:
		if reports && answer.done != state.exists {
			return false, state
		}
		// Some of these stores read before a delete, and then leave out the delete of a missing key.
		if answer != nil && !answer.done && state.exists {
			return false, state
		}
		return true, record{}
	}
}

func written(state record, input *operation) record {
	fields := decode(state.fields)
	for name, value := range input.Fields {
		fields[name] = value
	}
	return record{exists: true, fields: encode(fields)}
}

func encode(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for name, value := range fields {
		parts = append(parts, name+valueMark+value)
	}
	sort.Strings(parts)
	return strings.Join(parts, fieldMark)
}

func decode(fields string) map[string]string {
	result := map[string]string{}
	if fields == "" {
		return result
	}
	for _, part := range strings.Split(fields, fieldMark) {
		name, value, _ := strings.Cut(part, valueMark)
		result[name] = value
	}
	return result
}

func show(state record) string {
	if !state.exists {
		return "absent"
	}
	return "{" + strings.NewReplacer(valueMark, "=", fieldMark, " ").Replace(state.fields) + "}"
}

func describe(input *operation, answer *output) string {
	call := input.Type
	if len(input.Fields) > 0 {
		call += " " + show(record{exists: true, fields: encode(input.Fields)})
	}
	switch {
	case answer == nil:
		return call + " → unknown"
	case input.Type == "read":
		return fmt.Sprintf("%s → %s", call, show(record{exists: answer.done, fields: answer.found}))
	default:
		return fmt.Sprintf("%s → %t", call, answer.done)
	}
}
