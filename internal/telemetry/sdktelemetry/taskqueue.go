package sdktelemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

const (
	// askInterval is the time between two questions to Temporal about the task queue, askTimeout the limit for its
	// answer.
	askInterval = 15 * time.Second
	askTimeout  = 5 * time.Second

	// pollerFresh is how long after its last poll a worker counts as polling. A poll lasts up to a minute.
	pollerFresh = 90 * time.Second
)

// A queue asks Temporal about a task queue and keeps the answer for scrapes.
type queue struct {
	workers, backlog, age *prometheus.Desc

	mu sync.Mutex
	// by the value of the label queue; only if Temporal answered
	known map[string]*workflowservice.DescribeTaskQueueResponse
}

// WatchQueue shows what Temporal says of a task queue, until ctx ends. While Temporal does not answer, there are no
// such metrics.
func WatchQueue(ctx context.Context, registry *prometheus.Registry, c client.Client, namespace, name string) {
	label := []string{"queue"}
	q := &queue{
		workers: prometheus.NewDesc("almanac_workers_polling", "Workers that have polled Temporal's task queue within the last 90 s.", label, nil),
		backlog: prometheus.NewDesc("almanac_task_backlog", "Tasks that no worker has fetched, about, as Temporal counts them.", label, nil),
		age:     prometheus.NewDesc("almanac_task_backlog_age_seconds", "Age of the oldest task that no worker has fetched, about.", label, nil),
	}
	registry.MustRegister(q)
	go func() {
		for {
			q.ask(ctx, c, namespace, name)
			select {
			case <-ctx.Done():
				return
			case <-time.After(askInterval):
			}
		}
	}()
}

func (q *queue) ask(ctx context.Context, c client.Client, namespace, name string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	known := map[string]*workflowservice.DescribeTaskQueueResponse{}
	for label, kind := range map[string]enums.TaskQueueType{"workflow": enums.TASK_QUEUE_TYPE_WORKFLOW, "activity": enums.TASK_QUEUE_TYPE_ACTIVITY} {
		answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: name}, TaskQueueType: kind, ReportStats: true,
		})
		if err == nil {
			known[label] = answer
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = known
}

// Describe implements [prometheus.Collector].
func (q *queue) Describe(d chan<- *prometheus.Desc) {
	d <- q.workers
	d <- q.backlog
	d <- q.age
}

// Collect implements [prometheus.Collector].
func (q *queue) Collect(m chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for label, answer := range q.known {
		polling := 0
		for _, p := range answer.GetPollers() {
			if time.Since(p.GetLastAccessTime().AsTime()) < pollerFresh {
				polling++
			}
		}
		m <- prometheus.MustNewConstMetric(q.workers, prometheus.GaugeValue, float64(polling), label)
		if s := answer.GetStats(); s != nil { // an older Temporal has no statistics
			m <- prometheus.MustNewConstMetric(q.backlog, prometheus.GaugeValue, float64(s.GetApproximateBacklogCount()), label)
			m <- prometheus.MustNewConstMetric(q.age, prometheus.GaugeValue, s.GetApproximateBacklogAge().AsDuration().Seconds(), label)
		}
	}
}
