package mqtt

import (
	"hash/maphash"
	"sync"
	"time"
)

// trackedAtMost bounds the memory of messages on their way, 64 bytes each.
const trackedAtMost = 1 << 20

// start is when a publish was made, and when it should have been.
type start struct {
	actual, intended time.Time
}

// tracker holds the messages that were published with `track` and not received yet, by topic and payload: a message
// that is to be tracked differs from all others on their way. It holds what is received as well, as long as there is
// room, so that a second reception is a duplicate.
type tracker struct {
	seed maphash.Seed
	most int

	mutex    sync.Mutex
	waiting  map[uint64]start
	received map[uint64]struct{}
}

type reception int

const (
	unknown reception = iota
	first
	again
)

func newTracker(most int) *tracker {
	return &tracker{
		seed:     maphash.MakeSeed(),
		most:     most,
		waiting:  map[uint64]start{},
		received: map[uint64]struct{}{},
	}
}

// add reports whether there was room.
func (t *tracker) add(topic string, payload []byte, began start) bool {
	key := t.key(topic, payload)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.waiting) >= t.most {
		return false
	}
	t.waiting[key] = began
	return true
}

// forget drops a message that was not sent after all.
func (t *tracker) forget(topic string, payload []byte) {
	key := t.key(topic, payload)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.waiting, key)
}

func (t *tracker) receive(topic string, payload []byte) (start, reception) {
	key := t.key(topic, payload)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if began, ok := t.waiting[key]; ok {
		delete(t.waiting, key)
		if len(t.received) >= t.most {
			clear(t.received)
		}
		t.received[key] = struct{}{}
		return began, first
	}
	if _, ok := t.received[key]; ok {
		return start{}, again
	}
	return start{}, unknown
}

// pending counts tracked messages that nobody received yet.
func (t *tracker) pending() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.waiting)
}

func (t *tracker) key(topic string, payload []byte) uint64 {
	var hash maphash.Hash
	hash.SetSeed(t.seed)
	_, _ = hash.WriteString(topic)
	_ = hash.WriteByte(0)
	_, _ = hash.Write(payload)
	return hash.Sum64()
}
