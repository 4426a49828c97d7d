package mqtt

import (
	"errors"

	paho "github.com/eclipse/paho.mqtt.golang"
)

var (
	errTimeout = errors.New("no answer")
	errRefused = errors.New("the broker refused it")
)

// PublishError is what a publish rejects with.
type PublishError struct {
	// Kind is the name behind mqtt_errors_.
	Kind  string `js:"kind"`
	cause error
}

func (e *PublishError) Error() string { return e.cause.Error() }

func (e *PublishError) Unwrap() error { return e.cause }

// kindOf names what became of a publish: timeout (no acknowledgement in time: it may have arrived), lost (with the
// connection: it may have arrived), publish (it was not sent).
func (c *Client) kindOf(err error) string {
	switch {
	case errors.Is(err, errTimeout):
		return "timeout"
	case c.lost.Load() || errors.Is(err, paho.ErrNotConnected):
		return "lost"
	}
	return "publish"
}
