package mqtt

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/grafana/sobek"
)

// options of connect, as a script names them.
type options struct {
	URL      string
	ClientID string
	Username string
	Password string
	// Clean is false for a session that the broker keeps.
	Clean bool
	// CA, Cert and Key are PEM texts; Cert and Key identify this client.
	CA, Cert, Key string
	// Insecure accepts any certificate.
	Insecure       bool
	KeepAliveS     int64
	ConnectTimeout time.Duration
	// AckTimeout bounds the wait for PUBACK, PUBCOMP, SUBACK and for a place in the socket.
	AckTimeout time.Duration
}

func parseOptions(runtime *sobek.Runtime, value sobek.Value) (options, error) {
	given := struct {
		URL              string `js:"url"`
		ClientID         string `js:"clientId"`
		Username         string `js:"username"`
		Password         string `js:"password"`
		Clean            *bool  `js:"clean"`
		CA               string `js:"ca"`
		Cert             string `js:"cert"`
		Key              string `js:"key"`
		Insecure         bool   `js:"insecure"`
		KeepAliveS       int64  `js:"keepAliveS"`
		ConnectTimeoutMs int64  `js:"connectTimeoutMs"`
		AckTimeoutMs     int64  `js:"ackTimeoutMs"`
	}{KeepAliveS: 30, ConnectTimeoutMs: 10_000, AckTimeoutMs: 30_000}
	if err := knownKeys(runtime, value, connectKeys); err != nil {
		return options{}, fmt.Errorf("connect: %w", err)
	}
	if err := runtime.ExportTo(value, &given); err != nil {
		return options{}, fmt.Errorf("connect: %w", err)
	}
	clean := given.Clean == nil || *given.Clean
	if !clean && given.ClientID == "" {
		return options{}, errors.New("connect: a session that the broker keeps (clean: false) needs a clientId")
	}
	for _, option := range []struct {
		name  string
		value int64
	}{
		{"keepAliveS", given.KeepAliveS},
		{"connectTimeoutMs", given.ConnectTimeoutMs},
		{"ackTimeoutMs", given.AckTimeoutMs},
	} {
		if option.value <= 0 {
			return options{}, fmt.Errorf("connect: %s is %d, and takes a number above 0", option.name, option.value)
		}
	}
	return options{
		URL:            given.URL,
		ClientID:       given.ClientID,
		Username:       given.Username,
		Password:       given.Password,
		Clean:          clean,
		CA:             given.CA,
		Cert:           given.Cert,
		Key:            given.Key,
		Insecure:       given.Insecure,
		KeepAliveS:     given.KeepAliveS,
		ConnectTimeout: time.Duration(given.ConnectTimeoutMs) * time.Millisecond,
		AckTimeout:     time.Duration(given.AckTimeoutMs) * time.Millisecond,
	}, nil
}

var connectKeys = []string{
	"url", "clientId", "username", "password", "clean", "ca", "cert", "key", "insecure",
	"keepAliveS", "connectTimeoutMs", "ackTimeoutMs",
}

// knownKeys refuses an option that nobody reads: a misspelt one would change what is measured without a word.
func knownKeys(runtime *sobek.Runtime, value sobek.Value, known []string) error {
	if value == nil || sobek.IsUndefined(value) || sobek.IsNull(value) {
		return nil
	}
next:
	for _, key := range value.ToObject(runtime).Keys() {
		for _, name := range known {
			if key == name {
				continue next
			}
		}
		return fmt.Errorf("there is no option %s: there are %v", key, known)
	}
	return nil
}

// broker is the host and port of the URL, with TLS settings if the scheme is one with TLS.
func (o options) broker() (string, *tls.Config, error) {
	target, err := url.Parse(o.URL)
	if err != nil || target.Hostname() == "" {
		return "", nil, fmt.Errorf("connect: url is %q, and takes one such as mqtt://127.0.0.1:1883", o.URL)
	}
	host := func(port string) string {
		if target.Port() != "" {
			port = target.Port()
		}
		return fmt.Sprintf("%s:%s", target.Hostname(), port)
	}
	switch target.Scheme {
	case "mqtt", "tcp":
		return host("1883"), nil, nil
	case "mqtts", "ssl":
		config, err := o.tls(target.Hostname())
		return host("8883"), config, err
	}
	return "", nil, fmt.Errorf("connect: %s: is no scheme of MQTT: there are mqtt: and mqtts:", target.Scheme)
}

func (o options) tls(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: o.Insecure}
	if o.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, errors.New("connect: ca holds no certificate in PEM")
		}
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.X509KeyPair([]byte(o.Cert), []byte(o.Key))
		if err != nil {
			return nil, fmt.Errorf("connect: cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
