// Package audit describes changes of jobs and job collections: who asked for which, and what it changed.
package audit

import "context"

// An Actor is who asked for a change.
type Actor struct {
	Caller        string `json:"caller,omitempty"`      // name of the authenticated caller; empty if the API asks for no login
	Address       string `json:"address,omitempty"`     // IP address of the caller
	CorrelationID string `json:"correlation,omitempty"` // x-ms-correlation-request-id of the answer, which the caller may choose
}

type actorKey struct{}

// WithActor returns a context for what the actor asked for.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context; the zero actor if it has none.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
