// Package records is the k6 module k6/x/tidegauge/records: YCSB's operations on the records of the API.
//
// It does what loadtests/k6/records-js.ts does, with the same operations, requests and metrics, for a fraction of the
// processor time: choice of keys, values, requests, times and checks run here, and not in k6's JavaScript interpreter.
package records

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"

	"tidegauge/k6-modules/workload"
)

func init() {
	modules.Register("k6/x/tidegauge/records", rootModule{})
}

type rootModule struct{}

type instance struct{ vu modules.VU }

func (rootModule) NewModuleInstance(vu modules.VU) modules.Instance { return &instance{vu} }

func (module *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"Records": module.construct}}
}

// options of a Records, as a script names them.
type options struct {
	// Workload is a RecordWorkload of packages/workload.
	Workload workload.Workload `js:"workload"`
	Seed     int64             `js:"seed"`
	// Thread is the number of this virtual user among Threads.
	Thread  int `js:"thread"`
	Threads int `js:"threads"`
	// URL is that of the table. Token is a bearer token; empty: none.
	URL   string `js:"url"`
	Token string `js:"token"`
	// Rows adds a sample with tags for each operation (op_row).
	Rows bool `js:"rows"`
}

// limits of a run. A nil limit is none.
type limits struct {
	// Operations of this virtual user.
	Operations *int64 `js:"operations"`
	// DurationMs is from the start of the scenario.
	DurationMs *float64 `js:"durationMs"`
	// Rate is in operations per second over all virtual users, as -target of YCSB.
	Rate *float64 `js:"rate"`
}

func (module *instance) construct(call sobek.ConstructorCall, runtime *sobek.Runtime) *sobek.Object {
	records, err := module.newRecords(runtime, call.Argument(0))
	if err != nil {
		common.Throw(runtime, err)
	}
	return runtime.ToValue(records).ToObject(runtime)
}

func (module *instance) newRecords(runtime *sobek.Runtime, value sobek.Value) (*Records, error) {
	environment := module.vu.InitEnv()
	if environment == nil {
		return nil, errors.New("records: make it in the init context, so that its metrics are known before the run")
	}
	var given options
	known := []string{"workload", "seed", "thread", "threads", "url", "token", "rows"}
	if err := export(runtime, value, known, &given); err != nil {
		return nil, err
	}
	stream, err := workload.NewStream(&given.Workload, given.Seed, given.Thread, given.Threads)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	// The user agent and keep-alive are known when k6 has read all options.
	if _, _, err := newRequests(given.URL, given.Token, "", true); err != nil {
		return nil, err
	}
	meters, err := newMeters(environment.Registry, given.Rows)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return &Records{vu: module.vu, options: given, stream: stream, meters: meters}, nil
}

// export reads an object, and refuses a key that nobody reads.
func export(runtime *sobek.Runtime, value sobek.Value, known []string, to any) error {
	if value == nil || sobek.IsUndefined(value) || sobek.IsNull(value) {
		return errors.New("records: an object with options is missing")
	}
	for _, key := range value.ToObject(runtime).Keys() {
		if !slices.Contains(known, key) {
			return fmt.Errorf("records: there is no option %s: there are %v", key, known)
		}
	}
	if err := runtime.ExportTo(value, to); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	return nil
}

// Run does operations until a limit, each when the previous one has ended. With a rate, it also waits until an operation
// is due, as Pace does in loadtests/k6/scenario.ts. The operations count as iterations of k6.
//
// It returns early when k6 ends the iteration. The interrupted operation is not counted.
func (r *Records) Run(value sobek.Value) {
	var given limits
	if err := r.activate(); err != nil {
		common.Throw(r.vu.Runtime(), err)
	}
	if err := export(r.vu.Runtime(), value, []string{"operations", "durationMs", "rate"}, &given); err != nil {
		common.Throw(r.vu.Runtime(), err)
	}
	scenario := lib.GetScenarioState(r.vu.Context())
	if scenario == nil {
		common.Throw(r.vu.Runtime(), errors.New("records: run belongs into a scenario"))
	}
	if given.Rate != nil && *given.Rate <= 0 {
		common.Throw(r.vu.Runtime(), fmt.Errorf("records: rate is %v, and takes a number above 0", *given.Rate))
	}
	r.run(given, scenario.StartTime)
}

// One does one operation that is `lateMs` milliseconds behind its schedule. A negative number: it is early.
func (r *Records) One(lateMs float64) {
	if err := r.activate(); err != nil {
		common.Throw(r.vu.Runtime(), err)
	}
	if math.IsNaN(lateMs) || math.IsInf(lateMs, 0) {
		// The schedule has no time for an operation after its last one.
		lateMs = 0
	}
	r.one(time.Now().Add(-time.Duration(lateMs * float64(time.Millisecond))))
}
