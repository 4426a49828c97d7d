package k6mqtt

import (
	"errors"

	paho "github.com/eclipse/paho.mqtt.golang"
)

var (
	errTimeout = errors.New("no answer")
	errRefused = errors.New("the broker refused it")
)

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
