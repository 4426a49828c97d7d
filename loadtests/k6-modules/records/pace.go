package records

import (
	"context"
	"time"
)

// pace computes the intended starts of a closed model. With a rate, each virtual user has its share of it, and the
// first operations are spread over one interval, as in YCSB.
type pace struct {
	interval time.Duration
	offset   time.Duration
	first    time.Time
	// deadline is zero if the time is not limited.
	deadline time.Time
}

func newPace(limit limits, start time.Time, thread, threads int) *pace {
	p := &pace{}
	if limit.Rate != nil {
		interval := float64(threads) * float64(time.Second) / *limit.Rate
		p.interval = time.Duration(interval)
		p.offset = time.Duration(interval * float64(thread) / float64(threads))
	}
	if limit.DurationMs != nil {
		p.deadline = start.Add(time.Duration(*limit.DurationMs * float64(time.Millisecond)))
	}
	return p
}

// next returns the intended start of operation `count`, and the time to wait for it. `more` is false if no operation
// is to start: the wait is then for the end of the time.
func (p *pace) next(count int64, now time.Time) (due time.Time, wait time.Duration, more bool) {
	due = now
	if p.interval > 0 {
		if count == 0 {
			p.first = now.Add(p.offset)
		}
		due = p.first.Add(time.Duration(count) * p.interval)
	}
	if !p.deadline.IsZero() && !due.Before(p.deadline) {
		return due, p.deadline.Sub(now), false
	}
	if !p.deadline.IsZero() && !now.Before(p.deadline) {
		return due, 0, false
	}
	return due, due.Sub(now), true
}

// sleep returns false if the context ends first.
func sleep(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
