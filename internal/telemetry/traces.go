package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The attempts of an execution are spans below one span of the execution. Several workers may make them, and a workflow
// writes no spans. So the IDs of the execution's span, and of its trace, follow from the execution's ID; each worker
// that makes an attempt begins that span, and the one that ends the main action sends it.

// executionIDs makes the IDs of spans: those in the context if it has some, otherwise random ones.
type executionIDs struct{}

type idKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// idsOf returns the IDs of the trace and of the span of an execution.
func idsOf(execution string) (i ids) {
	sum := sha256.Sum256([]byte(execution))
	copy(i.trace[:], sum[:16])
	copy(i.span[:], sum[16:24])
	return i
}

// NewIDs implements the interface IDGenerator of OpenTelemetry's SDK.
func (executionIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if i, ok := ctx.Value(idKey{}).(ids); ok {
		return i.trace, i.span
	}
	var i ids
	binary.NativeEndian.PutUint64(i.trace[:8], rand.Uint64()|1)
	binary.NativeEndian.PutUint64(i.trace[8:], rand.Uint64())
	return i.trace, executionIDs{}.NewSpanID(ctx, i.trace)
}

// NewSpanID implements the interface IDGenerator of OpenTelemetry's SDK.
func (executionIDs) NewSpanID(ctx context.Context, _ trace.TraceID) (span trace.SpanID) {
	if i, ok := ctx.Value(idKey{}).(ids); ok {
		return i.span
	}
	binary.NativeEndian.PutUint64(span[:], rand.Uint64()|1) // a valid ID is not zero
	return span
}

// An Origin is the request to the API from which an execution comes.
type Origin struct {
	Request trace.SpanContext
	// the request asked for this execution, which belongs to its trace; otherwise it created the job, and the execution
	// links to it
	Asked bool
}

type originKey struct{}

// WithOrigin returns a context for the attempts of an execution.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the Origin in a context; the zero Origin if there is none.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// startExecution begins the span of an execution. The returned context has it, and nothing else changes.
func startExecution(ctx context.Context, tracer trace.Tracer, e *Attempt) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{
		trace.WithTimestamp(e.Due), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(e.attributes()...),
	}
	parent := ctx
	switch origin := OriginOf(ctx); {
	case origin.Asked && origin.Request.IsValid():
		parent = trace.ContextWithRemoteSpanContext(ctx, origin.Request)
	case origin.Request.IsValid():
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: origin.Request}))
	default:
		options = append(options, trace.WithNewRoot())
	}
	_, span := tracer.Start(context.WithValue(parent, idKey{}, idsOf(e.Execution)), "execution", options...)
	return trace.ContextWithSpan(ctx, span), span
}

func (e *Attempt) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("almanac.execution.id", e.Execution),
		attribute.String("almanac.job", e.Job), attribute.String("almanac.collection", e.Collection),
		attribute.String("almanac.action.kind", e.kind()),
	}
}

// startAttempt begins the span of an attempt, below that of its execution.
func startAttempt(ctx context.Context, tracer trace.Tracer, e *Attempt) (context.Context, trace.Span) {
	name := "attempt"
	if e.ErrorAction {
		name = "error action attempt"
	}
	return tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(e.attributes()...),
		trace.WithAttributes(attribute.Int("almanac.attempt", e.Number), attribute.String("server.address", e.Host)))
}

func endSpan(span trace.Span, failure string, end time.Time) {
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	span.End(trace.WithTimestamp(end))
}

// SpanOf returns the span in a context; an invalid one if there is none.
func SpanOf(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// Headers returns the headers by which the receiver of a request can continue the trace in the context: traceparent
// and, if there is one, tracestate. There are none if the context has no span.
func Headers(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	return headers
}
