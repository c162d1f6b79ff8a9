package senders

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"

	"almanac/activities"
	"almanac/internal/redact"
)

// queueFailure returns the attempt's error. Most refusals are retried, since they may be fixed meanwhile,
// for example by creating the queue. Statuses 400 and 413 are permanent: the request itself is wrong.
func queueFailure(ctx context.Context, account string, token url.Values, s redact.Secrets, err error) error {
	answer, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || ctx.Err() != nil {
		return queueUnreachable(ctx, account, err)
	}
	text := fmt.Sprintf("the service answered %d", answer.StatusCode)
	if answer.ErrorCode != "" {
		text += " " + s.Text(answer.ErrorCode, maxErrorCode)
	}
	if advice := queueAdvice(queueerror.Code(answer.ErrorCode), token); advice != "" {
		text += ": " + advice
	}
	answered := activities.AnsweredWith(errors.New(text), answer.StatusCode)
	if answer.StatusCode == http.StatusBadRequest || answer.StatusCode == http.StatusRequestEntityTooLarge {
		return &activities.PermanentError{Err: answered}
	}
	return withRetryAfter(answered, answer.RawResponse)
}

const maxErrorCode = 100 // bytes

// queueUnreachable returns the attempt's error if there was no response.
func queueUnreachable(ctx context.Context, account string, err error) error {
	if ctx.Err() != nil {
		return failure(ctx, err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Errorf("%w; is '%s' the name of a storage account?", failure(ctx, err), account)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return errors.New("TLS: the host does not speak TLS at this port; is the endpoint of storage queues to begin with http?")
	}
	return failure(ctx, err)
}

// queueAdvice says how to fix an error of Azure Storage; "" if unknown.
func queueAdvice(code queueerror.Code, token url.Values) string {
	switch code {
	case queueerror.AuthenticationFailed:
		return signatureAdvice(token, time.Now())
	case queueerror.AuthorizationPermissionMismatch:
		return "the sasToken does not permit to add messages: put one into the job that does (sp has an a)"
	case queueerror.AuthorizationResourceTypeMismatch, queueerror.AuthorizationServiceMismatch:
		return "the sasToken is not for the messages of queues: put one into the job for the service Queue (ss has a q) and the resource type Object (srt has an o)"
	case queueerror.AuthorizationProtocolMismatch:
		return "the sasToken is not for this protocol: https has to be allowed (spr)"
	case queueerror.AuthorizationSourceIPMismatch:
		return "the sasToken does not allow this address: Almanac's has to be within its range (sip)"
	case queueerror.AuthorizationFailure:
		return "the storage account refuses it: its firewall has to allow Almanac's address, and its settings shared access signatures"
	case queueerror.AccountIsDisabled:
		return "the storage account is disabled"
	case queueerror.QueueNotFound:
		return "the storage account has no queue of this name: create it"
	case queueerror.ResourceNotFound:
		return "there is no storage account of this name"
	case queueerror.QueueBeingDeleted:
		return "the queue is being deleted: create it again, which takes a minute to become possible"
	case queueerror.QueueDisabled:
		return "the queue is disabled"
	case queueerror.InvalidResourceName:
		return "this is no name of a queue: 3 to 63 letters, digits and single hyphens, none of them first or last"
	case queueerror.RequestBodyTooLarge, queueerror.MessageTooLarge:
		return "the message is longer than the 64 KiB that a queue holds: shorten it"
	case queueerror.ServerBusy:
		return "the storage account has more to do than it can: send less at the same time, or spread it over accounts"
	}
	return ""
}

// signatureAdvice says why a shared access signature was refused, as far as its parameters show.
func signatureAdvice(token url.Values, now time.Time) string {
	p := sas.NewQueryParameters(token)
	if start := p.StartTime(); now.Before(start) {
		return fmt.Sprintf("the sasToken is not valid before %s", start.UTC().Format(time.RFC3339))
	}
	if expiry := p.ExpiryTime(); !expiry.IsZero() && now.After(expiry) {
		return fmt.Sprintf("the sasToken expired at %s: put a new one into the job", expiry.UTC().Format(time.RFC3339))
	}
	return "the sasToken is not one for this account and queue, or its key was changed: put a new one into the job"
}
