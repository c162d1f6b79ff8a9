package sdktelemetry

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// NewOperations returns an interceptor for workers that measures how many activities of the given types are in
// progress. Each operation that enables, disables or deletes a job collection runs one of them at a time.
func NewOperations(registry *prometheus.Registry, activityTypes ...string) interceptor.WorkerInterceptor {
	o := &operations{types: activityTypes, inProgress: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "almanac_operations_in_progress", Help: "Operations on job collections whose jobs this worker is asking.",
	})}
	registry.MustRegister(o.inProgress)
	return o
}

type operations struct {
	interceptor.WorkerInterceptorBase
	types      []string
	inProgress prometheus.Gauge
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (o *operations) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	if !slices.Contains(o.types, activity.GetInfo(ctx).ActivityType.Name) {
		return next
	}
	a := &operation{inProgress: o.inProgress}
	a.Next = next
	return a
}

type operation struct {
	interceptor.ActivityInboundInterceptorBase
	inProgress prometheus.Gauge
}

// ExecuteActivity implements [interceptor.ActivityInboundInterceptor].
func (o *operation) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	o.inProgress.Inc()
	defer o.inProgress.Dec()
	return o.Next.ExecuteActivity(ctx, in)
}
