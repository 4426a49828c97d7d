package records

import (
	"strconv"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"

	"tidegauge/k6-modules/workload"
)

const (
	// Samples wait for at most this time, or until there are so many. A sample on its own takes as long as ten in a row.
	flushEvery = 100 * time.Millisecond
	flushAt    = 512
	// perOperation is more than the samples of one operation.
	perOperation = 64
)

// measured is what has separate metrics.
type measured int

const (
	read measured = iota
	update
	insert
	scan
	readModifyWrite
	verify
	measuredKinds
)

// meter has the metrics of one type of operation. loadtests/k6/meter.ts describes them.
type meter struct {
	ok, intended, failed *metrics.Metric
	returns              [outcomes]*metrics.Metric
}

// meters has all metrics that the operations on records report.
type meters struct {
	of   [measuredKinds]meter
	done *metrics.Metric
	// row is nil if the plan needs no sample with tags for each operation.
	row *metrics.Metric
}

// newMeters registers the metrics. A metric that exists must have the same type.
func newMeters(registry *metrics.Registry, rows bool) (*meters, error) {
	var failure error
	register := func(name string, kind metrics.MetricType, contains metrics.ValueType) *metrics.Metric {
		metric, err := registry.NewMetric(name, kind, contains)
		if err != nil {
			failure = err
		}
		return metric
	}
	trend := func(name string) *metrics.Metric { return register(name, metrics.Trend, metrics.Time) }
	counter := func(name string) *metrics.Metric { return register(name, metrics.Counter, metrics.Default) }
	all := &meters{done: counter("operations_done")}
	names := [measuredKinds]string{"read", "update", "insert", "scan", "read_modify_write", "verify"}
	for kind, name := range names {
		each := &all.of[kind]
		each.ok = trend("op_" + name)
		each.intended = trend("op_" + name + "_intended")
		each.failed = trend("op_" + name + "_failed")
		for result := range outcomes {
			each.returns[result] = counter("op_" + name + "_return_" + result.String())
		}
	}
	if rows {
		all.row = register("op_row", metrics.Trend, metrics.Default)
	}
	return all, failure
}

// reporter collects the samples of one virtual user and passes them to k6, many at once. k6's outputs, thresholds and
// summary see each of them.
type reporter struct {
	*meters
	builtin  *metrics.BuiltinMetrics
	out      chan<- metrics.SampleContainer
	traffic  trafficCounter
	tags     metrics.TagsAndMeta
	thread   string
	rowTags  map[rowTags]*metrics.TagSet
	held     metrics.Samples
	reported time.Time
}

// trafficCounter is the part of k6's dialer that has the bytes since the last call.
type trafficCounter interface {
	IOSamples(time.Time, metrics.TagsAndMeta, *metrics.BuiltinMetrics) metrics.SampleContainer
}

type rowTags struct {
	operation workload.Type
	result    outcome
	isPart    bool
}

func newReporter(all *meters, state *lib.State, thread int) *reporter {
	r := &reporter{
		meters:   all,
		builtin:  state.BuiltinMetrics,
		out:      state.Samples,
		tags:     state.Tags.GetCurrentValues(),
		thread:   strconv.Itoa(thread),
		rowTags:  map[rowTags]*metrics.TagSet{},
		reported: time.Now(),
	}
	r.traffic, _ = state.Dialer.(trafficCounter)
	return r
}

func (r *reporter) add(metric *metrics.Metric, value float64, at time.Time) {
	r.addTagged(metric, r.tags.Tags, value, at)
}

func (r *reporter) addTagged(metric *metrics.Metric, tags *metrics.TagSet, value float64, at time.Time) {
	r.held = append(r.held, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags},
		Time:       at,
		Value:      value,
		Metadata:   r.tags.Metadata,
	})
}

// count counts an outcome without a separate time.
func (r *reporter) count(kind measured, result outcome, at time.Time) {
	r.add(r.of[kind].returns[result], 1, at)
}

// ended records an operation that has ended.
func (r *reporter) ended(kind measured, result outcome, intended, began, end time.Time) {
	r.count(kind, result, end)
	if result == ok {
		r.add(r.of[kind].ok, metrics.D(end.Sub(began)), end)
		r.add(r.of[kind].intended, metrics.D(end.Sub(intended)), end)
		return
	}
	r.add(r.of[kind].failed, metrics.D(end.Sub(began)), end)
}

// addRow adds the sample of one operation for the archive of an experiment.
func (r *reporter) addRow(operation workload.Type, result outcome, due, end time.Time, isPart bool) {
	if r.row == nil {
		return
	}
	key := rowTags{operation, result, isPart}
	tags := r.rowTags[key]
	if tags == nil {
		part := "0"
		if isPart {
			part = "1"
		}
		tags = r.tags.Tags.With("operation", operation.String()).With("status", result.String()).
			With("thread", r.thread).With("part", part)
		r.rowTags[key] = tags
	}
	r.addTagged(r.row, tags, metrics.D(end.Sub(due)), end)
}

// requested records a request as k6/http does.
func (r *reporter) requested(status int, spent *timing, end time.Time) {
	unexpected := 0.0
	if status < 200 || status > 399 {
		unexpected = 1
	}
	r.add(r.builtin.HTTPReqs, 1, end)
	r.add(r.builtin.HTTPReqDuration, metrics.D(spent.sending+spent.waiting+spent.receiving), end)
	r.add(r.builtin.HTTPReqBlocked, metrics.D(spent.blocked), end)
	r.add(r.builtin.HTTPReqConnecting, metrics.D(spent.connecting), end)
	r.add(r.builtin.HTTPReqTLSHandshaking, metrics.D(spent.handshake), end)
	r.add(r.builtin.HTTPReqSending, metrics.D(spent.sending), end)
	r.add(r.builtin.HTTPReqWaiting, metrics.D(spent.waiting), end)
	r.add(r.builtin.HTTPReqReceiving, metrics.D(spent.receiving), end)
	r.add(r.builtin.HTTPReqFailed, unexpected, end)
}

// flushIfDue passes the samples on if they are many or old.
func (r *reporter) flushIfDue(now time.Time) {
	if len(r.held) >= flushAt-perOperation || now.Sub(r.reported) >= flushEvery {
		r.flush(now)
	}
}

// flush passes the samples on. k6 receives them until the iteration has ended, even after the run was stopped.
func (r *reporter) flush(now time.Time) {
	r.reported = now
	if len(r.held) == 0 {
		return
	}
	r.out <- r.held
	r.held = make(metrics.Samples, 0, flushAt)
	if r.traffic != nil {
		r.out <- r.traffic.IOSamples(now, r.tags, r.builtin)
	}
}
