// linearizability reads a history of operations on records from standard input, and decides for each key whether it is
// linearizable (Herlihy and Wing, Linearizability: a correctness condition for concurrent objects, 1990). It prints the
// result as JSON. The exit code is 0 for any result, and 1 if there is none.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/anishathalye/porcupine"
)

type report struct {
	Keys       int      `json:"keys"`
	Operations int      `json:"operations"`
	Violated   []string `json:"violated"`
	// Undecided keys were not finished within the time.
	Undecided []string `json:"undecided"`
	// Shortest is a violation with few operations. It is null without a violation.
	Shortest *example `json:"shortest"`
}

func main() {
	timeout := flag.Duration("timeout", time.Minute, "longest time for one key")
	html := flag.String("html", "", "write a page to this file: the shortest violation, or else the first key")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *timeout, *html); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer, timeout time.Duration, html string) error {
	h, err := readHistory(input)
	if err != nil {
		return err
	}
	result := report{Keys: len(h.keys), Operations: h.count, Violated: []string{}, Undecided: []string{}}
	for _, each := range judge(h, timeout) {
		switch each.result {
		case porcupine.Illegal:
			result.Violated = append(result.Violated, each.key)
		case porcupine.Unknown:
			result.Undecided = append(result.Undecided, each.key)
		}
	}
	if len(result.Violated) > 0 {
		result.Shortest = shortest(h, result.Violated)
	}
	if html != "" && len(h.keys) > 0 {
		if err := draw(h, result.Shortest, timeout, html); err != nil {
			return err
		}
	}
	return json.NewEncoder(output).Encode(result)
}

// draw writes Porcupine's page, which shows how far an order of the operations explains the history.
func draw(h *history, found *example, timeout time.Duration, file string) error {
	model := modelOf(h.header)
	operations := operationsOf(h.byKey[h.keys[0]])
	if found != nil {
		operations = found.prefix
	}
	_, info := porcupine.CheckOperationsVerbose(model, operations, timeout)
	if err := porcupine.VisualizePath(model, info, file); err != nil {
		return fmt.Errorf("the page %s cannot be written: %w", file, err)
	}
	return nil
}

func parallel() int { return runtime.GOMAXPROCS(0) }
