package mqtt

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
)

const samplesAtMost = 10_000

var nextName atomic.Int64

// bench is one virtual user with the module under the name mqtt, and the samples that the user has sent.
type bench struct {
	test    *testing.T
	runtime *modulestest.Runtime
	samples chan metrics.SampleContainer
}

// newBench defines variables for scripts: `url`, `tlsUrl`, `ca`, `username` and `password` of a real broker, and a
// unique `name`.
func newBench(t *testing.T) *bench {
	t.Helper()
	broker := func(variable string) string {
		value, ok := os.LookupEnv(variable)
		if !ok {
			t.Skipf("%s is not set: these tests are run by loadtests/test/integration/k6-modules.test.ts", variable)
		}
		return value
	}
	url := broker("MQTT_URL")
	runtime := modulestest.NewRuntime(t)
	registry := runtime.VU.InitEnv().Registry
	module := (&rootModule{tracker: newTracker(1000)}).NewModuleInstance(runtime.VU)
	samples := make(chan metrics.SampleContainer, samplesAtMost)
	runtime.MoveToVUContext(&lib.State{
		Dialer:  &net.Dialer{},
		Samples: samples,
		Tags:    lib.NewVUStateTags(registry.RootTagSet()),
	})
	for name, value := range map[string]any{
		"mqtt":     module.Exports().Named,
		"url":      url,
		"tlsUrl":   broker("MQTT_TLS_URL"),
		"ca":       broker("MQTT_CA"),
		"username": broker("MQTT_USERNAME"),
		"password": broker("MQTT_PASSWORD"),
		"name":     fmt.Sprintf("k6-mqtt-%d-%d", os.Getpid(), nextName.Add(1)),
	} {
		if err := runtime.VU.Runtime().Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return &bench{test: t, runtime: runtime, samples: samples}
}

// run runs a script, which may await, and returns its result.
func (b *bench) run(script string) any {
	b.test.Helper()
	value, err := b.try(script)
	if err != nil {
		b.test.Fatal(err)
	}
	return value
}

func (b *bench) try(script string) (any, error) {
	vm := b.runtime.VU.Runtime()
	// As in k6, each iteration has its own context.
	iteration, end := context.WithCancel(context.Background())
	defer end()
	b.runtime.VU.CtxField = iteration
	_, err := b.runtime.RunOnEventLoop(
		`var outcome = undefined, failure = undefined; (async () => {` + script + `})().then((v) => { outcome = v }, (e) => { failure = String(e) })`)
	if err != nil {
		return nil, err
	}
	if failure := vm.Get("failure"); failure != nil && failure.Export() != nil {
		return nil, fmt.Errorf("%v", failure.Export())
	}
	return vm.Get("outcome").Export(), nil
}

// failsWith runs a script that must throw or reject with a message that contains `part`.
func (b *bench) failsWith(part, script string) {
	b.test.Helper()
	_, err := b.try(script)
	if err == nil || !strings.Contains(err.Error(), part) {
		b.test.Fatalf("it should have failed with %q, and gave %v", part, err)
	}
}

// sums adds up the samples by metric: the total of a counter, or the number of measurements of a trend.
func (b *bench) sums() map[string]float64 {
	totals := map[string]float64{}
	for _, sample := range b.all() {
		if sample.Metric.Type == metrics.Counter {
			totals[sample.Metric.Name] += sample.Value
		} else {
			totals[sample.Metric.Name]++
		}
	}
	return totals
}

func (b *bench) all() []metrics.Sample {
	var found []metrics.Sample
	for _, container := range metrics.GetBufferedSamples(b.samples) {
		found = append(found, container.GetSamples()...)
	}
	return found
}

func (b *bench) equal(totals map[string]float64, want map[string]float64) {
	b.test.Helper()
	for name, value := range want {
		if totals[name] != value {
			b.test.Errorf("%s is %v, should be %v (all: %v)", name, totals[name], value, totals)
		}
	}
	for name := range totals {
		if _, ok := want[name]; !ok {
			b.test.Errorf("%s should not be there (all: %v)", name, totals)
		}
	}
}

// wire is a proxy between a client and the broker. `cut` ends its connections. `deafen` keeps them, but drops
// everything that the broker sends from then on.
type wire struct {
	listener net.Listener
	url      string
	ctx      context.Context
	cancel   context.CancelFunc
	deaf     atomic.Bool
}

func newWire(t *testing.T, brokerURL string) *wire {
	t.Helper()
	target, err := url.Parse(brokerURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &wire{listener: listener, url: "mqtt://" + listener.Addr().String(), ctx: ctx, cancel: cancel}
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.DialTimeout("tcp", target.Host, 10*time.Second)
			if err != nil {
				_ = near.Close()
				return
			}
			context.AfterFunc(ctx, func() {
				_ = near.Close()
				_ = far.Close()
			})
			go func() { _, _ = io.Copy(far, near) }()
			go w.answer(near, far)
		}
	}()
	return w
}

func (w *wire) answer(near, far net.Conn) {
	buffer := make([]byte, 4096)
	for {
		count, err := far.Read(buffer)
		if err != nil {
			_ = near.Close()
			return
		}
		if !w.deaf.Load() {
			_, _ = near.Write(buffer[:count])
		}
	}
}

func (w *wire) cut() { w.cancel() }

func (w *wire) deafen() { w.deaf.Store(true) }
