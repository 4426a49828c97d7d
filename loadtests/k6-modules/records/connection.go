package records

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"go.k6.io/k6/lib"
)

const (
	// requestTimeout is the default of k6/http.
	requestTimeout = time.Minute
	// headerAtMost bounds the header of a response, and keptAtMost a body that is kept.
	headerAtMost = 1 << 20
	keptAtMost   = 64 << 20
	bufferSize   = 16 << 10
)

var (
	errHeaderSize = fmt.Errorf("the header of the response is larger than %d bytes", headerAtMost)
	errBodySize   = fmt.Errorf("the body of the response is larger than %d bytes", keptAtMost)
	errUpgrade    = errors.New("the server changed the protocol")
)

// timing has the parts of a request that k6 reports as http_req_*. They are zero where a request did not come so far.
type timing struct {
	blocked, connecting, handshake time.Duration
	sending, waiting, receiving    time.Duration
}

// connection is one HTTP/1.1 connection of a virtual user, which it keeps from request to request. It uses the
// response parser of net/http, but not its Transport: the two goroutines of the Transport for each connection cost more
// than the rest of a request. It opens connections with k6's own dialer, which counts bytes and keeps to the hosts that
// k6 may reach.
//
// Requests are made by one goroutine. `interrupt` may be called by another.
type connection struct {
	address string
	// host is the name in the certificate of the server. Empty: no TLS.
	host   string
	dialer lib.DialContexter
	tls    *tls.Config
	// once closes the connection after each request.
	once bool

	mutex sync.Mutex
	open  net.Conn

	plain  net.Conn
	source *boundedReader
	reader *bufio.Reader
	used   time.Time
	body   []byte
}

// boundedReader ends with errHeaderSize after `left` bytes.
type boundedReader struct {
	from net.Conn
	left int64
}

func (b *boundedReader) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHeaderSize
	}
	count, err := b.from.Read(to)
	b.left -= int64(count)
	return count, err
}

// send writes one request and reads its response. `keep` returns the body, which is valid until the next call.
// `timing` is set as far as the request came. As k6/http does, it repeats a request without a body once if the server
// has closed an idle connection.
func (c *connection) send(ctx context.Context, request *http.Request, message []byte, keep bool, spent *timing) (
	status int, body []byte, err error,
) {
	began := time.Now()
	for {
		reused := c.reuse(began)
		if !reused {
			if err := c.connect(ctx, began, spent); err != nil {
				return 0, nil, err
			}
		}
		status, body, err = c.exchange(ctx, request, message, keep, began, spent)
		if err == nil {
			return status, body, nil
		}
		c.close()
		var closed *closedError
		if !reused || !errors.As(err, &closed) || request.Method != http.MethodGet || ctx.Err() != nil {
			return 0, nil, err
		}
	}
}

// closedError is an error before the first byte of a response.
type closedError struct{ cause error }

func (e *closedError) Error() string { return e.cause.Error() }

func (e *closedError) Unwrap() error { return e.cause }

func (c *connection) exchange(
	ctx context.Context, request *http.Request, message []byte, keep bool, began time.Time, spent *timing,
) (int, []byte, error) {
	if err := c.open.SetDeadline(began.Add(requestTimeout)); err != nil {
		return 0, nil, &closedError{err}
	}
	// After the deadline is set, because `interrupt` sets another one.
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	sending := time.Now()
	if _, err := c.open.Write(message); err != nil {
		return 0, nil, unanswered(err)
	}
	sent := time.Now()
	spent.sending = sent.Sub(sending)
	c.source.left = headerAtMost
	if _, err := c.reader.Peek(1); err != nil {
		spent.waiting = time.Since(sent)
		return 0, nil, unanswered(err)
	}
	answered := time.Now()
	spent.waiting = answered.Sub(sent)
	response, err := http.ReadResponse(c.reader, request)
	for err == nil && response.StatusCode < 200 {
		if response.StatusCode == http.StatusSwitchingProtocols {
			err = errUpgrade
			break
		}
		response, err = http.ReadResponse(c.reader, request)
	}
	var body []byte
	if err == nil {
		// The body is bounded by its own limit, or it is not stored.
		c.source.left = 1 << 62
		body, err = c.read(response.Body, keep)
	}
	c.used = time.Now()
	spent.receiving = c.used.Sub(answered)
	if err != nil {
		return 0, nil, err
	}
	// What follows a response without a request belongs to no request.
	if response.Close || c.once || c.reader.Buffered() > 0 {
		c.close()
	}
	return response.StatusCode, body, nil
}

// unanswered marks an error that is no timeout as one before the response.
func unanswered(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return &closedError{err}
}

func (c *connection) read(from io.Reader, keep bool) ([]byte, error) {
	if !keep {
		_, err := io.Copy(io.Discard, from)
		return nil, err
	}
	c.body = c.body[:0]
	for limited := io.LimitReader(from, keptAtMost+1); ; {
		if len(c.body) == cap(c.body) {
			c.body = append(c.body, 0)[:len(c.body)]
		}
		count, err := limited.Read(c.body[len(c.body):cap(c.body)])
		c.body = c.body[:len(c.body)+count]
		switch {
		case len(c.body) > keptAtMost:
			return nil, errBodySize
		case errors.Is(err, io.EOF):
			return c.body, nil
		case err != nil:
			return nil, err
		}
	}
}

// connect opens a connection within the request's time.
func (c *connection) connect(ctx context.Context, began time.Time, spent *timing) error {
	within, cancel := context.WithDeadline(ctx, began.Add(requestTimeout))
	defer cancel()
	start := time.Now()
	plain, err := c.dialer.DialContext(within, "tcp", c.address)
	if err != nil {
		return err
	}
	connected := time.Now()
	spent.connecting = connected.Sub(start)
	opened := plain
	if c.host != "" {
		config := c.tls.Clone()
		config.ServerName = c.host
		config.NextProtos = []string{"http/1.1"}
		secure := tls.Client(plain, config)
		if err := secure.HandshakeContext(within); err != nil {
			_ = plain.Close()
			return err
		}
		opened = secure
		spent.handshake = time.Since(connected)
	}
	spent.blocked = time.Since(start)
	c.plain = plain
	c.source = &boundedReader{from: opened}
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(c.source, bufferSize)
	} else {
		c.reader.Reset(c.source)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.open = opened
	return nil
}

// interrupt ends the request that is under way.
func (c *connection) interrupt() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open != nil {
		_ = c.open.SetDeadline(time.Unix(1, 0))
	}
}

// close ends the connection. The next request opens another one.
func (c *connection) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open != nil {
		_ = c.open.Close()
		c.open = nil
	}
}
