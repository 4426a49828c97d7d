package records

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tidegauge/k6-modules/workload"
)

// requests builds the requests of the API for records. Their bytes are those that k6/http sends for the same operation.
// loadtests/src/operations/records-http.ts has the URLs and bodies.
type requests struct {
	// path is the path of the table.
	path string
	// header is the part that all requests have, and tail what follows the length of a body.
	header, tail string
	read, write  http.Request

	body, message []byte
}

// target is the server.
type target struct {
	// address is HOST:PORT, and host the name in the server's certificate: empty without TLS.
	address, host string
}

// newRequests takes the URL of a table.
func newRequests(table, token, userAgent string, keepAlive bool) (*requests, target, error) {
	parsed, err := url.Parse(table)
	if err != nil || parsed.Hostname() == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, target{}, errors.New("records: url must be an http: or https: URL of a table")
	}
	if parsed.User != nil {
		return nil, target{}, errors.New("records: url contains a user: use a token")
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: parsed}); err != nil || proxy != nil {
		return nil, target{}, fmt.Errorf(
			"records: HTTP_PROXY or HTTPS_PROXY is set for %s, and a proxy is not possible here: add it to NO_PROXY, "+
				"or use the JavaScript driver", parsed.Hostname())
	}
	for _, value := range []struct{ name, text string }{{"token", token}, {"user agent", userAgent}} {
		if strings.ContainsFunc(value.text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, target{}, fmt.Errorf("records: the %s contains a control character", value.name)
		}
	}
	to := target{address: parsed.Host}
	port := "80"
	if parsed.Scheme == "https" {
		port = "443"
		to.host = parsed.Hostname()
	}
	if parsed.Port() == "" {
		to.address = net.JoinHostPort(parsed.Hostname(), port)
	}
	r := &requests{path: parsed.EscapedPath(), header: " HTTP/1.1\r\nHost: " + parsed.Host + "\r\n"}
	if userAgent != "" {
		r.header += "User-Agent: " + userAgent + "\r\n"
	}
	if !keepAlive {
		r.header += "Connection: close\r\n"
	}
	if token != "" {
		r.tail = "Authorization: Bearer " + token + "\r\n"
	}
	r.read.Method = http.MethodGet
	return r, to, nil
}

func (r *requests) start(method string, key []byte) {
	r.message = append(append(r.message[:0], method...), ' ')
	r.message = append(r.message, r.path...)
	if key != nil {
		r.message = append(append(r.message, '/'), key...)
	}
}

func (r *requests) field(prefix, name string) {
	if name != "" {
		r.message = append(append(append(r.message, prefix...), "fields="...), name...)
	}
}

func (r *requests) finish() []byte {
	r.message = append(append(append(r.message, r.header...), r.tail...), "\r\n"...)
	return r.message
}

// getRecord requests a record, or one field of it. The result is valid until the next call.
func (r *requests) getRecord(key []byte, field string) []byte {
	r.start(http.MethodGet, key)
	r.field("?", field)
	return r.finish()
}

// getRecords requests up to `count` records from a key on. The result is valid until the next call.
func (r *requests) getRecords(start []byte, count int64, field string) []byte {
	r.start(http.MethodGet, nil)
	r.message = append(append(r.message, "?start="...), start...)
	r.message = strconv.AppendInt(append(r.message, "&count="...), count, 10)
	r.field("&", field)
	return r.finish()
}

// change writes fields of a record. The result is valid until the next call.
func (r *requests) change(method string, key []byte, values []workload.Value) []byte {
	r.body = append(r.body[:0], `{"fields":{`...)
	for index, value := range values {
		if index > 0 {
			r.body = append(r.body, ',')
		}
		r.body = append(append(append(r.body, '"'), value.Name...), `":"`...)
		r.body = append(appendEscaped(r.body, value.Text), '"')
	}
	r.body = append(r.body, "}}"...)
	r.write.Method = method
	r.start(method, key)
	r.message = append(append(r.message, r.header...), "Content-Length: "...)
	r.message = strconv.AppendInt(r.message, int64(len(r.body)), 10)
	r.message = append(append(append(r.message, "\r\n"...), r.tail...), "Content-Type: application/json\r\n\r\n"...)
	r.message = append(r.message, r.body...)
	return r.message
}

// appendEscaped appends an ASCII text without control characters as JSON.stringify does.
func appendEscaped(to, text []byte) []byte {
	for _, character := range text {
		if character == '"' || character == '\\' {
			to = append(to, '\\')
		}
		to = append(to, character)
	}
	return to
}
