package records

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"

	"tidegauge/k6-modules/workload"
)

// warnEvery bounds the messages about failed requests, for each virtual user.
const warnEvery = time.Second

// Records does the operations of one virtual user.
type Records struct {
	vu      modules.VU
	options options
	stream  *workload.Stream
	meters  *meters

	// Made in the first iteration.
	state      *lib.State
	requests   *requests
	connection *connection
	report     *reporter
	warned     time.Time
}

// activate prepares what needs the state of a virtual user.
func (r *Records) activate() error {
	state := r.vu.State()
	if state == nil {
		return errors.New("records: operations belong into a function that k6 runs")
	}
	if r.state != nil {
		r.report.tags = state.Tags.GetCurrentValues()
		return nil
	}
	keepAlive := !state.Options.NoConnectionReuse.Bool
	requests, to, err := newRequests(r.options.URL, r.options.Token, state.Options.UserAgent.String, keepAlive)
	if err != nil {
		return err
	}
	r.state = state
	r.requests = requests
	r.connection = &connection{
		address: to.address, host: to.host, dialer: state.Dialer, tls: state.TLSConfig, once: !keepAlive,
	}
	r.report = newReporter(r.meters, state, r.options.Thread)
	return nil
}

// run does operations until a limit or the end of the iteration, and closes the connection.
func (r *Records) run(limit limits, start time.Time) {
	ctx := r.vu.Context()
	defer context.AfterFunc(ctx, r.connection.interrupt)()
	defer r.connection.close()
	pace := newPace(limit, start, r.options.Thread, r.options.Threads)
	began := time.Now()
	r.report.reported = began
	count := int64(0)
	for limit.Operations == nil || count < *limit.Operations {
		due, wait, more := pace.next(count, time.Now())
		if wait >= flushEvery {
			r.report.flush(time.Now())
		}
		if !sleep(ctx, wait) || !more || !r.perform(ctx, due) {
			break
		}
		count++
		now := time.Now()
		// k6 counts the iteration itself.
		if count > 1 {
			r.report.add(r.report.builtin.Iterations, 1, now)
		}
		r.report.flushIfDue(now)
	}
	now := time.Now()
	switch {
	case ctx.Err() != nil && count > 0:
		// k6 does not count an iteration that was interrupted.
		r.report.add(r.report.builtin.Iterations, 1, now)
	case ctx.Err() == nil && limit.Operations != nil && count < *limit.Operations:
		r.report.add(r.report.builtin.DroppedIterations, float64(*limit.Operations-count), now)
	}
	r.report.flush(now)
}

// one does one operation and keeps the connection for the next iteration.
func (r *Records) one(due time.Time) {
	ctx := r.vu.Context()
	defer context.AfterFunc(ctx, r.connection.interrupt)()
	r.perform(ctx, due)
	r.report.flush(time.Now())
}

// perform does the next operation. It returns false if the operation was interrupted.
func (r *Records) perform(ctx context.Context, due time.Time) bool {
	operation := r.stream.Next()
	began := time.Now()
	var result outcome
	var err error
	switch operation.Type {
	case workload.Read:
		result, err = r.read(ctx, operation, due, began, false)
	case workload.Scan:
		result, _, err = r.measure(ctx, step{
			kind: scan, of: workload.Scan, request: &r.requests.read,
			message: r.requests.getRecords(operation.Key, operation.Count, operation.Field),
			due:     due, began: began,
		})
	case workload.ReadModifyWrite:
		result, err = r.readModifyWrite(ctx, operation, due, began)
	case workload.Update:
		result, err = r.write(ctx, operation, update, due, began, false)
	default:
		result, err = r.write(ctx, operation, insert, due, began, false)
	}
	if err != nil {
		return false
	}
	if result == ok {
		r.report.add(r.report.done, 1, time.Now())
	}
	return true
}

// readModifyWrite is measured as in YCSB: the read and the update also separately, and the total from the start of the
// read to the end of the update.
func (r *Records) readModifyWrite(
	ctx context.Context, operation *workload.Operation, due, began time.Time,
) (outcome, error) {
	found, err := r.read(ctx, operation, due, began, true)
	if err != nil {
		return failed, err
	}
	updated, err := r.write(ctx, operation, update, began, time.Now(), true)
	if err != nil {
		return failed, err
	}
	whole := failed
	if found == ok && updated == ok {
		whole = ok
	}
	end := time.Now()
	r.report.ended(readModifyWrite, whole, due, began, end)
	r.report.addRow(workload.ReadModifyWrite, whole, due, end, false)
	return whole, nil
}

// read reads a record. With data integrity it then checks the values.
func (r *Records) read(
	ctx context.Context, operation *workload.Operation, due, began time.Time, isPart bool,
) (outcome, error) {
	integrity := r.options.Workload.DataIntegrity
	result, body, err := r.measure(ctx, step{
		kind: read, of: workload.Read, request: &r.requests.read,
		message: r.requests.getRecord(operation.Key, operation.Field),
		keep:    integrity, due: due, began: began, isPart: isPart,
	})
	if err != nil || result != ok || !integrity {
		return result, err
	}
	var record struct {
		Fields map[string]any `json:"fields"`
	}
	if json.Unmarshal(body, &record) != nil ||
		!r.options.Workload.IsIntact(operation.Key, operation.Field, record.Fields) {
		result = unexpectedState
	}
	r.report.count(verify, result, time.Now())
	return result, nil
}

// write inserts or updates a record.
func (r *Records) write(
	ctx context.Context, operation *workload.Operation, kind measured, due, began time.Time, isPart bool,
) (outcome, error) {
	method, of := http.MethodPatch, workload.Update
	if kind == insert {
		method, of = http.MethodPut, workload.Insert
	}
	result, _, err := r.measure(ctx, step{
		kind: kind, of: of, request: &r.requests.write,
		message: r.requests.change(method, operation.Key, operation.Values),
		due:     due, began: began, isPart: isPart,
	})
	return result, err
}

// step is one request of an operation.
type step struct {
	kind    measured
	of      workload.Type
	request *http.Request
	message []byte
	// keep returns the body of the response.
	keep bool
	// due is the intended and began the actual start.
	due, began time.Time
	// isPart marks the read and the update of a read-modify-write.
	isPart bool
}

// measure sends a request and records it. An error means that it was interrupted: it is not recorded then.
func (r *Records) measure(ctx context.Context, s step) (outcome, []byte, error) {
	if limit := r.state.RPSLimit; limit != nil {
		if err := limit.Wait(ctx); err != nil {
			return failed, nil, err
		}
	}
	var spent timing
	status, body, err := r.connection.send(ctx, s.request, s.message, s.keep, &spent)
	end := time.Now()
	if err != nil && ctx.Err() != nil {
		return failed, nil, err
	}
	if err != nil {
		r.warn(err, end)
	}
	result := outcomeOf(status, err)
	r.report.requested(status, &spent, end)
	r.report.ended(s.kind, result, s.due, s.began, end)
	due := s.due
	if s.isPart && s.of == workload.Update {
		// An update that is a part has no intended start.
		due = s.began
	}
	r.report.addRow(s.of, result, due, end, s.isPart)
	return result, body, nil
}

func (r *Records) warn(err error, now time.Time) {
	if now.Sub(r.warned) >= warnEvery {
		r.warned = now
		r.state.Logger.WithField("error", err).Warn("Request Failed")
	}
}
