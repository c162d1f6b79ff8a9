package servicebus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/Azure/go-amqp"

	"almanac/activities"
	"almanac/internal/egress"
	"almanac/internal/pool"
)

// Service Bus error conditions, from "AMQP errors in Service Bus".
const (
	busServerBusy     amqp.ErrCond = "com.microsoft:server-busy"
	busTimeout        amqp.ErrCond = "com.microsoft:timeout"
	busEntityDisabled amqp.ErrCond = "com.microsoft:entity-disabled"
	busArgument       amqp.ErrCond = "com.microsoft:argument-error"
)

// isDetached reports whether err ended a link or session; the connection works.
func isDetached(err error) bool {
	_, link := errors.AsType[*amqp.LinkError](err)
	_, session := errors.AsType[*amqp.SessionError](err)
	return link || session
}

// isBroken reports whether err ended the connection.
func isBroken(err error) bool {
	_, ok := errors.AsType[*amqp.ConnError](err)
	return ok
}

// isRefusal reports whether err is the service's answer: it accepted nothing, and the link or
// connection that brought it works.
func isRefusal(err error) bool {
	_, claim := errors.AsType[*claimError](err)
	_, condition := errors.AsType[*amqp.Error](err)
	return claim || condition && !isDetached(err) && !isBroken(err)
}

// An unsentError is a failure before the message was transferred.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }

func (e *unsentError) Unwrap() error { return e.err }

// busFailure returns the attempt's error, in helpful words; permanent if another attempt would fail too.
func busFailure(ctx context.Context, t *busTarget, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return &activities.PermanentError{Err: errors.New(t.secrets.Text(refused.Error(), egress.MaxReason))}
	}
	if permanent, ok := errors.AsType[*activities.PermanentError](err); ok {
		return permanent
	}
	if condition, ok := errors.AsType[*amqp.Error](err); ok && condition.Condition == amqp.ErrCondMessageSizeExceeded {
		return &activities.PermanentError{Err: &activities.AnsweredError{
			Err:    fmt.Errorf("%s: the message with its properties is larger than the %s takes", condition.Condition, t.kind),
			Answer: activities.AnswerRefused,
		}}
	}
	failed := errors.New(t.secrets.Text(busReason(t, err), egress.MaxReason))
	if isRefusal(err) {
		return &activities.AnsweredError{Err: failed, Answer: activities.AnswerRefused}
	}
	return failed
}

func busReason(t *busTarget, err error) string {
	claim, _ := errors.AsType[*claimError](err)
	condition, _ := errors.AsType[*amqp.Error](err)
	fate := "the message may have been accepted"
	if _, ok := errors.AsType[*unsentError](err); ok {
		fate = "the message was not sent"
	}
	switch {
	case errors.Is(err, pool.ErrClosed):
		return "the worker was stopped; nothing was sent"
	case claim != nil:
		return claimReason(t, claim)
	case isBroken(err):
		return "the connection was lost before the service answered; " + fate + remark(condition)
	case isDetached(err):
		return "the service detached the link before it answered; " + fate + remark(condition)
	case condition != nil:
		return conditionReason(t, condition)
	}
	reason := "no connection to " + t.host + ": " + connectReason(err)
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		reason += "; is '" + t.Namespace + "' the name of a namespace?"
	}
	return reason
}

func claimReason(t *busTarget, e *claimError) string {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return unauthorized(t, e.Error())
	case http.StatusNotFound:
		return missing(t, e.Error())
	}
	return "the service did not take the token (" + e.Error() + ")"
}

func conditionReason(t *busTarget, e *amqp.Error) string {
	said := string(e.Condition)
	if e.Description != "" {
		said += " " + e.Description
	}
	switch e.Condition {
	case amqp.ErrCondUnauthorizedAccess:
		return unauthorized(t, said)
	case amqp.ErrCondNotFound:
		return missing(t, said)
	case busServerBusy:
		return "the namespace is busy and takes no message now: let attempts be further apart, or raise its capacity (" + said + ")"
	case amqp.ErrCondResourceLimitExceeded:
		return "the " + t.kind + " is full: have messages received, or raise its size (" + said + ")"
	case busEntityDisabled:
		return "the " + t.kind + " is disabled for sending (" + said + ")"
	case busTimeout:
		return "the service was not done in time; the message may have been accepted (" + said + ")"
	case busArgument, amqp.ErrCondNotAllowed:
		return "the " + t.kind + " does not take such a message (" + said + ")"
	}
	return "the service refused the message (" + said + ")"
}

func unauthorized(t *busTarget, said string) string {
	return fmt.Sprintf("the shared access key '%s' is not accepted: check sasKeyName and sasKey, and that the key has the right to send (%s)",
		t.Authentication.SASKeyName, said)
}

func missing(t *busTarget, said string) string {
	return fmt.Sprintf("there is no such %s in the namespace (%s)", t.kind, said)
}

// remark returns what the service said when it ended a connection or link.
func remark(e *amqp.Error) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", e.Condition, e.Description)
}

func connectReason(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "TLS: the host does not speak TLS at this port"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("it was not ready within %g s", pool.OpenTimeout.Seconds())
	}
	return cmp.Or(egress.Reason(err), err.Error())
}
