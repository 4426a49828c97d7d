package records

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
)

const samplesAtMost = 100_000

// bench is one virtual user with the module, and the samples that it has sent. The API is a table in memory.
type bench struct {
	test    *testing.T
	runtime *modulestest.Runtime
	samples chan metrics.SampleContainer
	table   *table
}

// table has records as the API has them. `delay` and `fail` change its answers.
type table struct {
	server *httptest.Server
	mutex  sync.Mutex
	rows   map[string]map[string]string
	seen   atomic.Int64
	delay  time.Duration
	fail   int
}

func newTable(t *testing.T) *table {
	t.Helper()
	made := &table{rows: map[string]map[string]string{}}
	made.server = httptest.NewServer(made)
	t.Cleanup(made.server.Close)
	return made
}

func (t *table) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	t.seen.Add(1)
	select {
	case <-time.After(t.delay):
	case <-request.Context().Done():
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.fail != 0 {
		writer.WriteHeader(t.fail)
		return
	}
	key := path.Base(request.URL.Path)
	switch request.Method {
	case http.MethodGet:
		found := t.rows[key]
		if found == nil && request.URL.RawQuery == "" {
			writer.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(writer).Encode(map[string]any{"key": key, "fields": found})
	default:
		var body struct {
			Fields map[string]string `json:"fields"`
		}
		text, _ := io.ReadAll(request.Body)
		if err := json.Unmarshal(text, &body); err != nil {
			writer.WriteHeader(http.StatusBadRequest)
			return
		}
		if t.rows[key] == nil {
			t.rows[key] = map[string]string{}
		}
		for name, value := range body.Fields {
			t.rows[key][name] = value
		}
	}
}

// newBench makes a Records named `operations` from the options in `changes`, over a small workload.
func newBench(t *testing.T, changes string) *bench {
	t.Helper()
	b := &bench{test: t, runtime: modulestest.NewRuntime(t), table: newTable(t)}
	b.samples = make(chan metrics.SampleContainer, samplesAtMost)
	registry := b.runtime.VU.InitEnv().Registry
	module := rootModule{}.NewModuleInstance(b.runtime.VU)
	vm := b.runtime.VU.Runtime()
	for name, value := range map[string]any{
		"Records": module.Exports().Named["Records"],
		"url":     b.table.server.URL + "/v1/records/usertable",
	} {
		if err := vm.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vm.RunString(`
		const workload = {
			recordCount: 10, operationCount: 0, insertStart: 0, insertCount: 10, insertOrder: 'hashed', zeroPadding: 1,
			fieldCount: 3, fieldLength: { distribution: 'constant', minimum: 1, maximum: 20, histogram: null },
			readAllFields: true, writeAllFields: false, dataIntegrity: false,
			mix: { read: 0, update: 0, insert: 1, scan: 0, readModifyWrite: 0 }, requestDistribution: 'uniform',
			hotspot: { dataFraction: 0.2, operationFraction: 0.8 }, exponential: { percentile: 95, fraction: 0.8 },
			scanLength: { distribution: 'uniform', minimum: 1, maximum: 5 },
		};
		const none = { operations: null, durationMs: null, rate: null };
		const given = { workload, seed: 1, thread: 0, threads: 1, url, token: '', rows: false };
		const operations = new Records({ ...given, ...` + changes + ` });`); err != nil {
		t.Fatal(err)
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	b.runtime.MoveToVUContext(&lib.State{
		Dialer:         &net.Dialer{},
		Samples:        b.samples,
		Tags:           lib.NewVUStateTags(registry.RootTagSet()),
		BuiltinMetrics: b.runtime.BuiltinMetrics,
		Logger:         logger,
	})
	return b
}

// run runs a script in an iteration of a scenario that starts now.
func (b *bench) run(script string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return b.runIn(ctx, script)
}

func (b *bench) runIn(ctx context.Context, script string) error {
	b.test.Helper()
	b.runtime.VU.CtxField = lib.WithScenarioState(ctx, &lib.ScenarioState{StartTime: time.Now()})
	_, err := b.runtime.VU.Runtime().RunString(script)
	return err
}

// sums adds up the samples by metric: the total of a counter, or the number of measurements of a trend.
func (b *bench) sums() map[string]float64 {
	totals := map[string]float64{}
	for _, container := range metrics.GetBufferedSamples(b.samples) {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Type == metrics.Counter {
				totals[sample.Metric.Name] += sample.Value
			} else {
				totals[sample.Metric.Name]++
			}
		}
	}
	return totals
}

func (b *bench) equal(want map[string]float64) {
	b.test.Helper()
	totals := b.sums()
	for name, value := range want {
		if totals[name] != value {
			b.test.Errorf("%s is %v, should be %v (all: %v)", name, totals[name], value, totals)
		}
	}
	for name := range totals {
		if _, ok := want[name]; !ok && !strings.HasPrefix(name, "http_req_") {
			b.test.Errorf("%s should not be there (all: %v)", name, totals)
		}
	}
}

const mixed = `{ workload: { ...workload, dataIntegrity: true,
	mix: { read: 0, update: 0, insert: 0.5, scan: 0.25, readModifyWrite: 0.25 }, requestDistribution: 'latest' } }`

func TestOperationsAreCountedAndTimed(t *testing.T) {
	b := newBench(t, mixed)
	if err := b.run(`operations.run({ ...none, operations: 200 });`); err != nil {
		t.Fatal(err)
	}
	totals := b.sums()
	inserts, scans, whole := totals["op_insert"], totals["op_scan"], totals["op_read_modify_write_return_OK"]+
		totals["op_read_modify_write_return_ERROR"]
	if inserts+scans+whole != 200 || inserts == 0 || scans == 0 || whole == 0 {
		t.Fatal(totals)
	}
	if totals["http_reqs"] != inserts+scans+2*whole || float64(b.table.seen.Load()) != totals["http_reqs"] {
		t.Fatal(totals)
	}
	if totals["op_update_return_OK"] != whole || totals["iterations"] != 199 {
		t.Fatal(totals)
	}
	// Loaded records are missing in this table, and an update makes a part of one: their reads are not intact.
	read := totals["op_read_return_OK"]
	if read == 0 || totals["op_verify_return_OK"]+totals["op_verify_return_UNEXPECTED_STATE"] != read ||
		totals["op_verify_return_OK"] == 0 || totals["op_read_return_NOT_FOUND"] != totals["op_read_failed"] {
		t.Fatal(totals)
	}
	if totals["operations_done"] != inserts+scans+totals["op_read_modify_write_return_OK"] {
		t.Fatal(totals)
	}
}

func TestFailuresAreCounted(t *testing.T) {
	b := newBench(t, `{}`)
	b.table.fail = 503
	if err := b.run(`operations.run({ ...none, operations: 2 });`); err != nil {
		t.Fatal(err)
	}
	b.table.server.Close()
	if err := b.run(`operations.one(500);`); err != nil {
		t.Fatal(err)
	}
	b.equal(map[string]float64{
		"op_insert_failed": 3, "op_insert_return_SERVICE_UNAVAILABLE": 2, "op_insert_return_CONNECTION": 1,
		"http_reqs": 3, "iterations": 1,
	})
}

func TestTheIntendedStartIsTheScripts(t *testing.T) {
	b := newBench(t, `{ rows: true }`)
	if err := b.run(`operations.one(500); operations.one(-20);`); err != nil {
		t.Fatal(err)
	}
	values := map[string][]float64{}
	var tags []map[string]string
	for _, container := range metrics.GetBufferedSamples(b.samples) {
		for _, sample := range container.GetSamples() {
			values[sample.Metric.Name] = append(values[sample.Metric.Name], sample.Value)
			if sample.Metric.Name == "op_row" {
				tags = append(tags, sample.Tags.Map())
			}
		}
	}
	for index, late := range []float64{500, -20} {
		difference := values["op_insert_intended"][index] - values["op_insert"][index]
		if difference < late || difference > late+5 || values["op_row"][index] != values["op_insert_intended"][index] {
			t.Fatal(values)
		}
		want := map[string]string{"operation": "insert", "status": "OK", "thread": "0", "part": "0"}
		for name, value := range want {
			if tags[index][name] != value {
				t.Fatal(tags)
			}
		}
	}
}

func TestARunEndsWithItsTimeAndKeepsItsRate(t *testing.T) {
	b := newBench(t, `{ thread: 1, threads: 2 }`)
	began := time.Now()
	// One virtual user of two has 20 of 40 operations per second. The first one is due after 25 ms.
	if err := b.run(`operations.run({ operations: 100, durationMs: 500, rate: 40 });`); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Fatal(took)
	}
	totals := b.sums()
	if done := totals["operations_done"]; done > 10 || totals["dropped_iterations"] != 100-done {
		t.Fatal(totals)
	}
}

func TestIntendedStartsAreThoseOfYCSB(t *testing.T) {
	start := time.Now()
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }
	rate, duration := 40.0, 150.0
	p := newPace(limits{Rate: &rate, DurationMs: &duration}, start, 1, 2)
	for count, step := range []struct {
		now, due, wait float64
		more           bool
	}{
		{0, 25, 25, true},
		{30, 75, 45, true},
		// It is late, and the operation keeps its intended start.
		{140, 125, -15, true},
		{145, 175, 5, false},
		{160, 225, -10, false},
	} {
		due, wait, more := p.next(int64(count), at(step.now))
		if due != at(step.due) || wait != at(step.wait).Sub(start) || more != step.more {
			t.Errorf("%d: %v %v %v", count, due.Sub(start), wait, more)
		}
	}
	free := newPace(limits{DurationMs: &duration}, start, 1, 2)
	if due, wait, more := free.next(7, at(149)); due != at(149) || wait != 0 || !more {
		t.Error(due, wait, more)
	}
	if _, _, more := free.next(8, at(150)); more {
		t.Error("no operation may start when the time is over")
	}
}

func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	b := newBench(t, `{}`)
	b.table.delay = 20 * time.Millisecond
	if err := b.run(`operations.run({ ...none, operations: 1 });`); err != nil {
		t.Fatal(err)
	}
	b.sums()
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for b.table.seen.Load() < 4 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	began := time.Now()
	if err := b.runIn(ctx, `operations.run(none);`); err != nil {
		t.Fatal(err)
	}
	if time.Since(began) > 10*time.Second {
		t.Fatal("it should have ended at once")
	}
	totals := b.sums()
	// The interrupted operation is not counted, and those before it are.
	if done := totals["operations_done"]; done < 2 || done != totals["iterations"] || totals["op_insert_failed"] != 0 {
		t.Fatal(totals)
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

func TestWrongOptionsAreNamed(t *testing.T) {
	b := newBench(t, `{}`)
	for part, script := range map[string]string{
		"there is no option duration": `operations.run({ duration: 1 })`,
		"an object with options":      `operations.run()`,
		"rate is 0":                   `operations.run({ ...none, rate: 0 })`,
		"init context":                `new Records(given)`,
	} {
		if err := b.run(script); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("it should have failed with %q, and gave %v", part, err)
		}
	}
}
