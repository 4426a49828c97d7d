package records

import (
	"errors"
	"net"
	"net/http"
)

// outcome is the outcome of an operation, as in loadtests/src/operations/outcome.ts.
type outcome int

const (
	ok outcome = iota
	notFound
	unexpectedState
	exists
	badRequest
	forbidden
	rejected
	notImplemented
	serviceUnavailable
	timedOut
	lostConnection
	failed
	outcomes
)

func (o outcome) String() string {
	return [outcomes]string{
		"OK", "NOT_FOUND", "UNEXPECTED_STATE", "EXISTS", "BAD_REQUEST", "FORBIDDEN", "REJECTED", "NOT_IMPLEMENTED",
		"SERVICE_UNAVAILABLE", "TIMEOUT", "CONNECTION", "ERROR",
	}[o]
}

// outcomeOf is the outcome of a request that ended with an HTTP status, or with an error and without a response.
func outcomeOf(status int, err error) outcome {
	if err != nil {
		return outcomeOfError(err)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return forbidden
	case http.StatusNotFound:
		return notFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return timedOut
	case http.StatusConflict:
		return exists
	case http.StatusUnprocessableEntity:
		return rejected
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return serviceUnavailable
	case http.StatusNotImplemented:
		return notImplemented
	}
	switch {
	case status >= 200 && status < 300:
		return ok
	case status >= 400 && status < 500:
		return badRequest
	}
	return failed
}

// outcomeOfError follows k6: a timeout is one of the request, except while the connection is opened.
func outcomeOfError(err error) outcome {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return lostConnection
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return lostConnection
	}
	return timedOut
}
