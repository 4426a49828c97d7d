package records

import (
	"errors"
	"syscall"
	"time"

	"go.k6.io/k6/lib/netext"
)

// idleAtMost is the time after which a connection is examined before it is used again. Servers keep idle connections
// for seconds; that of Node for five.
const idleAtMost = time.Second

// reuse reports whether there is a connection for the next request. One that was idle is closed if the server has
// closed it, because a write that fails is not repeated.
func (c *connection) reuse(now time.Time) bool {
	if c.open == nil {
		return false
	}
	if now.Sub(c.used) > idleAtMost && !c.quiet() {
		c.close()
		return false
	}
	return true
}

// quiet reports whether the connection is open and nothing has arrived. The server has closed it, or is about to, when
// something arrives without a request.
func (c *connection) quiet() bool {
	if err := c.open.SetDeadline(time.Time{}); err != nil {
		return false
	}
	inner := c.plain
	if counted, ok := inner.(*netext.Conn); ok {
		inner = counted.Conn
	}
	socket, ok := inner.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Read(func(descriptor uintptr) bool {
		var one [1]byte
		_, _, peeked = syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && (errors.Is(peeked, syscall.EAGAIN) || errors.Is(peeked, syscall.EWOULDBLOCK))
}
