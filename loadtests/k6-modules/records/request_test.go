package records

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"tidegauge/k6-modules/workload"
)

// net/http reads the variable once. It uses no proxy for loopback addresses.
func init() {
	_ = os.Setenv("HTTP_PROXY", "http://proxy.example:3128")
}

// written is what net/http, and with it k6/http, sends for a request.
func written(t *testing.T, method, url, body string, header map[string]string) string {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		request.Body = nil
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	var wire bytes.Buffer
	if err := request.Write(&wire); err != nil {
		t.Fatal(err)
	}
	return wire.String()
}

func TestRequestsHaveTheBytesOfNetHTTP(t *testing.T) {
	const table = "http://127.0.0.1:8080/v1/records/a%20table"
	all := map[string]string{"User-Agent": "agent", "Authorization": "Bearer secret", "Content-Type": "application/json"}
	for _, header := range []map[string]string{
		{"User-Agent": "agent"},
		{"User-Agent": "agent", "Authorization": "Bearer secret"},
	} {
		token := strings.TrimPrefix(header["Authorization"], "Bearer ")
		r, to, err := newRequests(table, token, "agent", true)
		if err != nil {
			t.Fatal(err)
		}
		if to != (target{address: "127.0.0.1:8080"}) {
			t.Fatal(to)
		}
		writing := map[string]string{}
		for name, value := range all {
			if name != "Authorization" || token != "" {
				writing[name] = value
			}
		}
		key := []byte("user1")
		values := []workload.Value{{Name: "field0", Text: []byte(`a"b\c</>&` + "\x7f")}, {Name: "field1", Text: nil}}
		const body = `{"fields":{"field0":"a\"b\\c</>&` + "\x7f" + `","field1":""}}`
		for what, pair := range map[string][2]string{
			"read":        {string(r.getRecord(key, "")), written(t, "GET", table+"/user1", "", header)},
			"one field":   {string(r.getRecord(key, "field3")), written(t, "GET", table+"/user1?fields=field3", "", header)},
			"scan":        {string(r.getRecords(key, 7, "")), written(t, "GET", table+"?start=user1&count=7", "", header)},
			"scan fields": {string(r.getRecords(key, 7, "field1")), written(t, "GET", table+"?start=user1&count=7&fields=field1", "", header)},
			"insert":      {string(r.change("PUT", key, values)), written(t, "PUT", table+"/user1", body, writing)},
			"update":      {string(r.change("PATCH", key, values)), written(t, "PATCH", table+"/user1", body, writing)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s is\n%q, and should be\n%q", what, pair[0], pair[1])
			}
		}
	}
}

func TestATargetThatCannotBeUsedIsRefused(t *testing.T) {
	for part, given := range map[string][2]string{
		"http: or https:": {"ftp://127.0.0.1/t", ""},
		"a user":          {"http://me:secret@127.0.0.1/t", ""},
		"proxy":           {"http://api.example/t", ""},
		"control":         {"http://127.0.0.1/t", "a\r\nX-Other: b"},
	} {
		_, _, err := newRequests(given[0], given[1], "", true)
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
			t.Errorf("it should have failed with %q, and gave %v", part, err)
		}
	}
	for table, want := range map[string]target{
		"http://localhost/t":   {address: "localhost:80"},
		"https://localhost/t":  {address: "localhost:443", host: "localhost"},
		"https://[::1]:8443/t": {address: "[::1]:8443", host: "::1"},
	} {
		if _, to, err := newRequests(table, "", "", true); err != nil || to != want {
			t.Errorf("%s: %+v %v", table, to, err)
		}
	}
}

func TestOutcomesFollowTheStatus(t *testing.T) {
	for status, want := range map[int]outcome{
		200: ok, 204: ok, 301: failed, 400: badRequest, 401: forbidden, 403: forbidden, 404: notFound, 408: timedOut,
		409: exists, 410: badRequest, 422: rejected, 429: serviceUnavailable, 500: failed, 501: notImplemented,
		502: failed, 503: serviceUnavailable, 504: timedOut,
	} {
		if result := outcomeOf(status, nil); result != want {
			t.Errorf("%d is %v, and should be %v", status, result, want)
		}
	}
}
