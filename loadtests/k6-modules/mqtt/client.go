package mqtt

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/js/promises"
	"go.k6.io/k6/metrics"
)

const (
	quiesceMs = 250
	pollEvery = 5 * time.Millisecond
	refused   = 0x80
)

// Client is one MQTT connection of a script, over as many iterations as the script keeps it; what it leaves open ends
// with the process. It does not reconnect: what a lost connection costs is counted, and the script decides whether to
// connect again.
type Client struct {
	vu       modules.VU
	options  options
	paho     paho.Client
	report   *reporter
	tracker  *tracker
	received atomic.Int64
	arrived  chan struct{}
	lost     atomic.Bool
	// SessionPresent reports whether the broker had kept the session.
	SessionPresent bool `js:"sessionPresent"`
}

func dial(module *instance, options options) (*Client, error) {
	iteration := module.vu.Context()
	report := newReporter(module.meter, module.vu.State())
	host, secure, err := options.broker()
	if err != nil {
		return nil, err
	}
	client := &Client{
		vu:      module.vu,
		options: options,
		report:  report,
		tracker: module.tracker,
		arrived: make(chan struct{}, 1),
	}
	dialer := module.vu.State().Dialer
	client.paho = paho.NewClient(paho.NewClientOptions().
		AddBroker("tcp://" + host).
		SetClientID(options.ClientID).
		SetUsername(options.Username).
		SetPassword(options.Password).
		SetCleanSession(options.Clean).
		SetProtocolVersion(4).
		SetKeepAlive(time.Duration(options.KeepAliveS) * time.Second).
		SetConnectTimeout(options.ConnectTimeout).
		SetWriteTimeout(options.AckTimeout).
		SetAutoReconnect(false).
		SetOrderMatters(true).
		SetDefaultPublishHandler(func(_ paho.Client, message paho.Message) { client.receive(message) }).
		SetConnectionLostHandler(func(paho.Client, error) { client.lost.Store(true) }).
		// k6's own dialer counts bytes and keeps to the hosts that k6 may reach.
		SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(iteration, options.ConnectTimeout)
			defer cancel()
			conn, err := dialer.DialContext(ctx, "tcp", host)
			if err != nil || secure == nil {
				return conn, err
			}
			wrapped := tls.Client(conn, secure)
			if err := wrapped.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return wrapped, nil
		}))
	token := client.paho.Connect()
	if err := wait(iteration, token, options.ConnectTimeout); err != nil {
		report.push(iteration, report.count(report.errors["connect"]))
		client.paho.Disconnect(0)
		return nil, fmt.Errorf("connect to %s: %w", host, err)
	}
	client.SessionPresent = token.(*paho.ConnectToken).SessionPresent()
	return client, nil
}

// wait bounds every wait for the broker, and ends with the iteration.
func wait(iteration context.Context, token paho.Token, timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-token.Done():
		return token.Error()
	case <-timer.C:
		return fmt.Errorf("%w after %v", errTimeout, timeout)
	case <-iteration.Done():
		return iteration.Err()
	}
}

// Publish sends a message; the promise resolves to the milliseconds until it was acknowledged (QoS 1 and 2) or
// written (QoS 0), and rejects with a PublishError when it was not.
//
// Options: qos (0), retain (false), track (false: do not measure until a subscriber has it), lateMs (0: how many
// milliseconds ago it should have been published).
func (c *Client) Publish(topic string, payload sobek.Value, value sobek.Value) *sobek.Promise {
	runtime := c.vu.Runtime()
	iteration := c.vu.Context()
	began := start{actual: time.Now()}
	c.report.flush(iteration)
	given := struct {
		QoS    byte    `js:"qos"`
		Retain bool    `js:"retain"`
		Track  bool    `js:"track"`
		LateMs float64 `js:"lateMs"`
	}{}
	if err := knownKeys(runtime, value, []string{"qos", "retain", "track", "lateMs"}); err != nil {
		common.Throw(runtime, fmt.Errorf("publish: %w", err))
	}
	if value != nil && !sobek.IsUndefined(value) {
		if err := runtime.ExportTo(value, &given); err != nil {
			common.Throw(runtime, fmt.Errorf("publish: %w", err))
		}
	}
	if given.QoS > 2 {
		common.Throw(runtime, fmt.Errorf("publish: qos is %d, and takes 0, 1 or 2", given.QoS))
	}
	bytes, err := common.ToBytes(payload.Export())
	if err != nil {
		common.Throw(runtime, fmt.Errorf("publish: payload: %w", err))
	}
	began.intended = began.actual.Add(-time.Duration(given.LateMs * float64(time.Millisecond)))
	promise, resolve, reject := promises.New(c.vu)
	if given.Track && !c.tracker.add(topic, bytes, began) {
		c.report.push(iteration, c.report.count(c.report.errors["publish"]))
		reject(&PublishError{"publish", fmt.Errorf(
			"publish: %d tracked messages are on their way, which is as many as can be", c.tracker.most)})
		return promise
	}
	go func() {
		milliseconds, err := c.publish(iteration, topic, bytes, given.QoS, given.Retain, began)
		if err == nil {
			resolve(milliseconds)
			return
		}
		if given.Track {
			c.tracker.forget(topic, bytes)
		}
		reject(err)
	}()
	return promise
}

func (c *Client) publish(
	iteration context.Context, topic string, payload []byte, qos byte, retain bool, began start,
) (float64, error) {
	samples := metrics.Samples{c.report.count(c.report.sent)}
	err := wait(iteration, c.paho.Publish(topic, qos, retain, payload), c.options.AckTimeout)
	end := time.Now()
	defer func() { c.report.push(iteration, samples) }()
	if err != nil {
		kind := c.kindOf(err)
		samples = append(samples, c.report.count(c.report.errors[kind]))
		return 0, &PublishError{kind, fmt.Errorf("publish to %s: %w", topic, err)}
	}
	if qos > 0 {
		samples = append(samples, c.report.count(c.report.acked))
		samples = append(samples, c.report.took(c.report.ack, c.report.ackIntended, began, end)...)
	}
	return metrics.D(end.Sub(began.actual)), nil
}

// Subscribe returns when the broker has granted the subscription, or throws. Messages are counted and measured here;
// the script does not see them.
func (c *Client) Subscribe(filter string, qos byte) {
	if err := c.subscribe(filter, qos); err != nil {
		c.report.push(c.vu.Context(), c.report.count(c.report.errors["subscribe"]))
		common.Throw(c.vu.Runtime(), fmt.Errorf("subscribe to %s: %w", filter, err))
	}
}

func (c *Client) subscribe(filter string, qos byte) error {
	token := c.paho.Subscribe(filter, qos, nil)
	if err := wait(c.vu.Context(), token, c.options.AckTimeout); err != nil {
		return err
	}
	for _, granted := range token.(*paho.SubscribeToken).Result() {
		if granted == refused {
			return errRefused
		}
	}
	return nil
}

func (c *Client) receive(message paho.Message) {
	end := time.Now()
	samples := metrics.Samples{c.report.count(c.report.received)}
	switch began, seen := c.tracker.receive(message.Topic(), message.Payload()); seen {
	case first:
		samples = append(samples, c.report.took(c.report.receive, c.report.receiveIntended, began, end)...)
	case again:
		samples = append(samples, c.report.count(c.report.duplicates))
	case unknown:
	}
	c.report.hold(samples...)
	c.received.Add(1)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// WaitReceived waits until this client has received `count` messages; false when it has not within the time.
func (c *Client) WaitReceived(count, timeoutMs int64) bool {
	return c.until(timeoutMs, func() bool { return c.received.Load() >= count })
}

// Drain waits until every tracked message of the process was received; false when not within the time.
func (c *Client) Drain(timeoutMs int64) bool {
	return c.until(timeoutMs, func() bool { return c.tracker.pending() == 0 })
}

func (c *Client) until(timeoutMs int64, done func() bool) bool {
	iteration := c.vu.Context()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	defer c.report.flush(iteration)
	for deadline := time.Now().Add(time.Duration(timeoutMs) * time.Millisecond); !done(); {
		if time.Now().After(deadline) || iteration.Err() != nil {
			return false
		}
		select {
		case <-c.arrived:
		case <-ticker.C:
		}
	}
	return true
}

// IsConnected reports whether the connection is open.
func (c *Client) IsConnected() bool { return c.paho.IsConnectionOpen() }

// Close sends DISCONNECT. Publishes without acknowledgement get 250 ms to complete. A second call does nothing.
func (c *Client) Close() {
	c.paho.Disconnect(quiesceMs)
	c.report.flush(c.vu.Context())
}
