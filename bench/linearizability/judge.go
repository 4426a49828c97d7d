package main

import (
	"math"
	"sort"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// The search for a shorter history repeats the check, so it has limits: for one check, and for all of one key.
const (
	shortenTimeout = time.Second
	shortenTime    = 15 * time.Second
)

// verdict of one key
type verdict struct {
	key    string
	result porcupine.CheckResult
}

// example is the operations of one key that no order explains.
type example struct {
	Key string `json:"key"`
	// Lines of the history, without the header.
	Operations []int `json:"operations"`
	// All operations of the key until the one that shows the violation.
	prefix []porcupine.Operation
}

// judge decides for each key whether its history is linearizable. It uses all processors.
func judge(h *history, timeout time.Duration) []verdict {
	model := modelOf(h.header)
	verdicts := make([]verdict, len(h.keys))
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel())
	for number, key := range h.keys {
		group.Add(1)
		slots <- struct{}{}
		go func() {
			defer group.Done()
			result := porcupine.CheckOperationsTimeout(model, operationsOf(h.byKey[key]), timeout)
			verdicts[number] = verdict{key, result}
			<-slots
		}()
	}
	group.Wait()
	return verdicts
}

// shortest finds a short violation among the given keys: the earliest end of an operation at which the history of a key is
// not linearizable any more, without the operations that the violation does not need.
func shortest(h *history, keys []string) *example {
	model := modelOf(h.header)
	var best *example
	for _, key := range keys {
		prefix := shortestPrefix(model, h.byKey[key])
		if best == nil || len(prefix) < len(best.prefix) {
			best = &example{Key: key, prefix: prefix}
		}
	}
	for _, each := range needed(model, best.prefix) {
		best.Operations = append(best.Operations, each.Input.(*operation).index)
	}
	return best
}

// shortestPrefix returns the operations until the earliest violation. Those that had not ended then are open. If a
// prefix is not linearizable, no longer one is.
func shortestPrefix(model porcupine.Model, all []*operation) []porcupine.Operation {
	var ends []int64
	for _, each := range all {
		if each.Return != nil {
			ends = append(ends, *each.Return)
		}
	}
	sort.Slice(ends, func(a, b int) bool { return ends[a] < ends[b] })
	first := sort.Search(len(ends), func(number int) bool {
		return isIllegal(model, prefixUntil(all, ends[number]))
	})
	if first == len(ends) {
		return operationsOf(all)
	}
	return prefixUntil(all, ends[first])
}

func prefixUntil(all []*operation, end int64) []porcupine.Operation {
	var some []*operation
	for _, each := range all {
		switch {
		case each.Call > end:
		case each.Return != nil && *each.Return <= end:
			some = append(some, each)
		case each.Type != "read":
			open := *each
			open.Return = nil
			some = append(some, &open)
		}
	}
	return operationsOf(some)
}

// needed leaves out operations without which the history is still not linearizable:
//   - Without a read, the rest of a history is as linearizable as before.
//   - So it is without an update whose values no remaining read found: it never makes another result possible.
//   - Another write is not needed if the history is not linearizable either when it may take effect at any time after its
//     call, or never. It stays in the history for the further checks.
func needed(model porcupine.Model, prefix []porcupine.Operation) []porcupine.Operation {
	end := time.Now().Add(shortenTime)
	kept := append([]porcupine.Operation(nil), prefix...)
	isOpen := map[*operation]bool{}
	for _, isPass := range []func(*operation) bool{isRead, isUpdate, isOtherWrite} {
		for _, each := range prefix {
			input := each.Input.(*operation)
			if !isPass(input) || time.Now().After(end) || isUpdate(input) && isSeen(input, kept) {
				continue
			}
			var without []porcupine.Operation
			for _, other := range kept {
				if other.Input.(*operation) != input {
					without = append(without, other)
				} else if isOtherWrite(input) {
					other.Output = (*output)(nil)
					other.Return = math.MaxInt64
					without = append(without, other)
				}
			}
			if isIllegal(model, without) {
				kept = without
				isOpen[input] = true
			}
		}
	}
	var result []porcupine.Operation
	for _, each := range kept {
		if !isOpen[each.Input.(*operation)] {
			result = append(result, each)
		}
	}
	sort.SliceStable(result, func(a, b int) bool { return result[a].Call < result[b].Call })
	return result
}

func isRead(o *operation) bool       { return o.Type == "read" }
func isUpdate(o *operation) bool     { return o.Type == "update" }
func isOtherWrite(o *operation) bool { return !isRead(o) && !isUpdate(o) }

// isSeen reports whether a read found a value of the update.
func isSeen(update *operation, operations []porcupine.Operation) bool {
	for _, each := range operations {
		for name, value := range each.Input.(*operation).Found {
			if written, has := update.Fields[name]; has && written == value {
				return true
			}
		}
	}
	return false
}

func isIllegal(model porcupine.Model, operations []porcupine.Operation) bool {
	return porcupine.CheckOperationsTimeout(model, operations, shortenTimeout) == porcupine.Illegal
}

func operationsOf(some []*operation) []porcupine.Operation {
	result := make([]porcupine.Operation, 0, len(some))
	for _, each := range some {
		one := porcupine.Operation{ClientId: each.Client, Input: each, Call: each.Call, Output: (*output)(nil), Return: math.MaxInt64}
		if each.Return != nil {
			one.Return = *each.Return
			one.Output = &output{done: each.Done, found: encode(each.Found)}
		}
		result = append(result, one)
	}
	return result
}
