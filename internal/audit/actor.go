// Package audit describes changes of jobs and job collections: who asked for which, and what it changed.
package audit

import (
	"cmp"
	"context"
)

// An Actor is who asked for a change.
type Actor struct {
	// name of the authenticated caller; empty if the API asks for no login
	Caller  string `json:"caller,omitempty"`
	Address string `json:"address,omitempty"` // IP address of the caller
	// x-ms-correlation-request-id of the answer, which the caller may choose
	CorrelationID string `json:"correlation,omitempty"`
}

// Itself is the caller of what Almanac changes by a policy of the job, and nobody asked for.
const Itself = "almanac"

// Name returns who the actor is: the authenticated caller, or the address if there is none.
func (a Actor) Name() string { return cmp.Or(a.Caller, a.Address) }

// An ActorKey is the key of the actor in a context, which may be that of a workflow.
type ActorKey struct{}

// WithActor returns a context for what the actor asked for.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, ActorKey{}, a)
}

// ActorOf returns the actor of a context, which may be that of a workflow; the zero actor if it has none.
func ActorOf(ctx interface{ Value(key any) any }) Actor {
	a, _ := ctx.Value(ActorKey{}).(Actor)
	return a
}
