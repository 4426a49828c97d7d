package records

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server answers each request on a connection with the next of its answers. It closes the connection after the last one.
type server struct {
	address     string
	connections atomic.Int64
	requests    atomic.Int64
}

func serve(t *testing.T, answers ...string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &server{address: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.answer(conn, answers)
		}
	}()
	return s
}

func (s *server) answer(conn net.Conn, answers []string) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for _, answer := range answers {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		s.requests.Add(1)
		if answer == "hang" {
			_, _ = reader.ReadByte()
			return
		}
		_, _ = io.WriteString(conn, answer)
	}
}

func (s *server) connect(t *testing.T) *connection {
	t.Helper()
	c := &connection{address: s.address, dialer: &net.Dialer{}}
	t.Cleanup(c.close)
	return c
}

const (
	getText = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	putText = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
	short   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
)

func get(c *connection) (int, string, error) {
	status, body, err := c.send(
		context.Background(), &http.Request{Method: http.MethodGet}, []byte(getText), true, &timing{})
	return status, string(body), err
}

func put(c *connection) (int, string, error) {
	status, body, err := c.send(
		context.Background(), &http.Request{Method: http.MethodPut}, []byte(putText), true, &timing{})
	return status, string(body), err
}

func TestResponsesOfAllKindsAreRead(t *testing.T) {
	for what, answer := range map[string]string{
		"length":       short,
		"chunks":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nTrailer: x\r\n\r\n",
		"early hints":  "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + short,
		"close":        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"until close":  "HTTP/1.0 200 OK\r\n\r\nok",
		"large header": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100_000) + "\r\nContent-Length: 2\r\n\r\nok",
	} {
		t.Run(what, func(t *testing.T) {
			answers := []string{answer, answer}
			if what == "until close" {
				answers = answers[:1]
			}
			s := serve(t, answers...)
			c := s.connect(t)
			for range 2 {
				if status, body, err := get(c); status != 200 || body != "ok" || err != nil {
					t.Fatal(status, body, err)
				}
			}
			want := int64(1)
			if strings.Contains(what, "close") {
				want = 2
			}
			if s.connections.Load() != want {
				t.Fatalf("%d connections, and should be %d", s.connections.Load(), want)
			}
		})
	}
}

func TestAResponseThatIsTooLargeOrBrokenFails(t *testing.T) {
	for what, answer := range map[string]string{
		"endless header": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", headerAtMost/3) + "\r\n",
		"no HTTP":        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"half":           "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
		"nothing":        "",
		"upgrade":        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"two lengths":    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
	} {
		t.Run(what, func(t *testing.T) {
			c := serve(t, answer).connect(t)
			status, _, err := get(c)
			if status != 0 || err == nil || outcomeOf(status, err) != lostConnection {
				t.Fatal(status, err, outcomeOf(status, err))
			}
			if c.open != nil {
				t.Fatal("the connection should be closed")
			}
		})
	}
}

func TestBytesAfterAResponseAreNotTheNextOne(t *testing.T) {
	s := serve(t, short+strings.Replace(short, "200", "500", 1), short)
	c := s.connect(t)
	for range 2 {
		status, _, err := get(c)
		if status != 200 || err != nil {
			t.Fatal(status, err)
		}
	}
	if s.connections.Load() != 2 {
		t.Fatal(s.connections.Load())
	}
}

func TestAClosedIdleConnectionIsReplaced(t *testing.T) {
	s := serve(t, short)
	c := s.connect(t)
	if _, _, err := get(c); err != nil {
		t.Fatal(err)
	}
	// The server has closed it. A request without a body is repeated; one that changes data is not.
	waitFor(t, func() bool { return !c.quiet() })
	if status, _, err := get(c); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	waitFor(t, func() bool { return !c.quiet() })
	if status, _, err := put(c); status != 0 || outcomeOf(status, err) != lostConnection {
		t.Fatal(status, err)
	}
	if _, _, err := put(c); err != nil {
		t.Fatal(err)
	}
	// After a longer pause the connection is examined first.
	waitFor(t, func() bool { return !c.quiet() })
	c.used = c.used.Add(-2 * idleAtMost)
	if status, _, err := put(c); status != 200 || err != nil {
		t.Fatal(status, err)
	}
}

func TestAQuietIdleConnectionIsKept(t *testing.T) {
	s := serve(t, short, short)
	c := s.connect(t)
	if _, _, err := put(c); err != nil {
		t.Fatal(err)
	}
	c.used = c.used.Add(-2 * requestTimeout)
	_ = c.open.SetDeadline(time.Unix(1, 0))
	if status, _, err := put(c); status != 200 || err != nil || s.connections.Load() != 1 {
		t.Fatal(status, err, s.connections.Load())
	}
}

func TestARefusedConnectionIsNoTimeout(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	c := &connection{address: listener.Addr().String(), dialer: &net.Dialer{}}
	if status, _, err := get(c); outcomeOf(status, err) != lostConnection {
		t.Fatal(status, err)
	}
	dial := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	if outcomeOf(0, dial) != lostConnection || outcomeOf(0, &net.OpError{Op: "read", Err: context.DeadlineExceeded}) != timedOut {
		t.Fatal("k6 has another outcome for these timeouts")
	}
}

func TestAnInterruptEndsTheRequest(t *testing.T) {
	s := serve(t, "hang")
	c := s.connect(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, c.interrupt)()
	go func() {
		for s.requests.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	began := time.Now()
	_, _, err := c.send(ctx, &http.Request{Method: http.MethodGet}, []byte(getText), false, &timing{})
	if err == nil || time.Since(began) > 10*time.Second || c.open != nil {
		t.Fatal(err, time.Since(began), c.open)
	}
	if _, _, err := c.send(ctx, &http.Request{Method: http.MethodGet}, []byte(getText), false, &timing{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it takes too long")
		}
	}
}

func TestTLS(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(writer, request.Proto)
	}))
	t.Cleanup(api.Close)
	trusted := api.Client().Transport.(*http.Transport).TLSClientConfig
	c := &connection{
		address: api.Listener.Addr().String(), host: "example.com", dialer: &net.Dialer{}, tls: trusted,
	}
	t.Cleanup(c.close)
	for range 2 {
		if status, body, err := get(c); status != 200 || body != "HTTP/1.1" || err != nil {
			t.Fatal(status, body, err)
		}
		c.used = c.used.Add(-2 * idleAtMost)
	}
	other := &connection{address: c.address, host: "example.com", dialer: &net.Dialer{}, tls: &tls.Config{}}
	status, _, err := get(other)
	var authority x509.UnknownAuthorityError
	if !errors.As(err, &authority) || outcomeOf(status, err) != lostConnection {
		t.Fatal(status, err)
	}
}

func TestAConnectionCanBeUsedOnce(t *testing.T) {
	s := serve(t, short, short)
	c := s.connect(t)
	c.once = true
	for range 2 {
		if _, _, err := get(c); err != nil {
			t.Fatal(err)
		}
	}
	if s.connections.Load() != 2 {
		t.Fatal(s.connections.Load())
	}
}
