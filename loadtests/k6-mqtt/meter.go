package k6mqtt

import (
	"context"
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

// reporter sends samples of one client, with the tags its virtual user had when it connected.
type reporter struct {
	*meter
	context context.Context
	samples chan<- metrics.SampleContainer
	tags    *metrics.TagSet
}

func newReporter(m *meter, vu context.Context, state *lib.State) *reporter {
	return &reporter{meter: m, context: vu, samples: state.Samples, tags: state.Tags.GetCurrentValues().Tags}
}

func (r *reporter) count(metric *metrics.Metric) { r.push(metric, 1) }

func (r *reporter) fail(kind string) { r.push(r.errors[kind], 1) }

// took reports the time from both starts to `end`.
func (r *reporter) took(actual, intended *metrics.Metric, began start, end time.Time) {
	r.push(actual, metrics.D(end.Sub(began.actual)))
	r.push(intended, metrics.D(end.Sub(began.intended)))
}

func (r *reporter) push(metric *metrics.Metric, value float64) {
	metrics.PushIfNotDone(r.context, r.samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: r.tags},
		Time:       time.Now(),
		Value:      value,
	})
}
