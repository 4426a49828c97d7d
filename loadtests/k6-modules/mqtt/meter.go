package mqtt

import (
	"context"
	"sync"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
)

// errorKinds are the names behind mqtt_errors_.
var errorKinds = []string{"connect", "subscribe", "publish", "timeout", "lost"}

// meter is what all clients of a virtual user count with.
type meter struct {
	sent, acked, received, duplicates *metrics.Metric
	errors                            map[string]*metrics.Metric
	ack, ackIntended                  *metrics.Metric
	receive, receiveIntended          *metrics.Metric
}

func newMeter(registry *metrics.Registry) (*meter, error) {
	var failed error
	make := func(name string, kind metrics.MetricType, contains metrics.ValueType) *metrics.Metric {
		metric, err := registry.NewMetric(name, kind, contains)
		if err != nil {
			failed = err
		}
		return metric
	}
	counter := func(name string) *metrics.Metric { return make(name, metrics.Counter, metrics.Default) }
	trend := func(name string) *metrics.Metric { return make(name, metrics.Trend, metrics.Time) }
	m := &meter{
		sent:            counter("mqtt_sent"),
		acked:           counter("mqtt_acked"),
		received:        counter("mqtt_received"),
		duplicates:      counter("mqtt_duplicates"),
		errors:          map[string]*metrics.Metric{},
		ack:             trend("mqtt_publish_ack"),
		ackIntended:     trend("mqtt_publish_ack_intended"),
		receive:         trend("mqtt_publish_receive"),
		receiveIntended: trend("mqtt_publish_receive_intended"),
	}
	for _, kind := range errorKinds {
		m.errors[kind] = counter("mqtt_errors_" + kind)
	}
	return m, failed
}

// heldAtMost bounds what was received and not reported yet; a script that never waits loses the rest.
const heldAtMost = 1 << 20

// reporter sends the samples of one client, with the tags its virtual user had when it connected. k6 takes samples
// during iterations only, so what happens between them is held until the script calls again.
type reporter struct {
	*meter
	samples chan<- metrics.SampleContainer
	tags    *metrics.TagSet

	mutex sync.Mutex
	held  metrics.Samples
}

func newReporter(m *meter, state *lib.State) *reporter {
	return &reporter{meter: m, samples: state.Samples, tags: state.Tags.GetCurrentValues().Tags}
}

func (r *reporter) count(metric *metrics.Metric) metrics.Sample {
	return r.sample(metric, 1, time.Now())
}

// took is the time from both starts to `end`.
func (r *reporter) took(actual, intended *metrics.Metric, began start, end time.Time) metrics.Samples {
	return metrics.Samples{
		r.sample(actual, metrics.D(end.Sub(began.actual)), end),
		r.sample(intended, metrics.D(end.Sub(began.intended)), end),
	}
}

func (r *reporter) sample(metric *metrics.Metric, value float64, now time.Time) metrics.Sample {
	return metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: r.tags},
		Time:       now,
		Value:      value,
	}
}

func (r *reporter) push(iteration context.Context, samples metrics.SampleContainer) {
	metrics.PushIfNotDone(iteration, r.samples, samples)
}

func (r *reporter) hold(samples ...metrics.Sample) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.held) < heldAtMost {
		r.held = append(r.held, samples...)
	}
}

// flush reports what is held.
func (r *reporter) flush(iteration context.Context) {
	r.mutex.Lock()
	held := r.held
	r.held = nil
	r.mutex.Unlock()
	if len(held) > 0 {
		r.push(iteration, held)
	}
}
