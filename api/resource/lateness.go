package resource

import (
	"time"

	"almanac/job"
	"almanac/job/lateness"
)

// A Lateness is how late executions began.
type Lateness struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`
	Name       string             `json:"name"`
	Properties LatenessProperties `json:"properties"`
	NextLink   *string            `json:"nextLink"`
}

// LatenessProperties are what was counted.
type LatenessProperties struct {
	From        *job.Time           `json:"from"`
	Until       *job.Time           `json:"until"`
	Jobs        int                 `json:"jobs"`
	JobsRead    int                 `json:"jobsRead"`
	Complete    bool                `json:"complete"`
	Executions  int                 `json:"executions"`
	Percentiles LatenessPercentiles `json:"percentiles"`
	Histogram   []LatenessBar       `json:"histogram"`
	Slowest     []LateExecution     `json:"slowest"`
	Unread      []UnreadJob         `json:"unread,omitempty"`
}

// LatenessPercentiles are those of the lateness, and of what the executions waited for.
type LatenessPercentiles struct {
	Lateness        Percentiles `json:"lateness"`
	Worker          Percentiles `json:"worker"`
	Server          Percentiles `json:"server"`
	Place           Percentiles `json:"place"`
	Send            Percentiles `json:"send"`
	EarlierAttempts Percentiles `json:"earlierAttempts"`
}

// Percentiles are in seconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// A LatenessBar is how many executions were later than the bar before says, and no later than Below.
type LatenessBar struct {
	Below float64 `json:"below,omitempty"` // in seconds; 0: the last one
	Count int     `json:"count"`
}

// A LateExecution is one of the slowest.
type LateExecution struct {
	ID                    string    `json:"id"`   // of the execution
	Name                  string    `json:"name"` // of the job
	ExpectedExecutionTime *job.Time `json:"expectedExecutionTime"`
	Split                 *Split    `json:"split"`
}

// An UnreadJob is a job that could not be read.
type UnreadJob struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// NewLateness returns the form of a report of a collection, or of its job of that name.
func NewLateness(k job.CollectionKey, name string, r *lateness.Report) Lateness {
	of := NewCollection(job.Collection{Key: k})
	l := Lateness{ID: of.ID + "/lateness", Type: of.Type + "/lateness", Name: of.Name + "/lateness"}
	if name != "" {
		one := k.Job(name)
		l = Lateness{ID: one.ARMID() + "/lateness", Type: typeJob + "/lateness", Name: jobName(one) + "/lateness"}
	}
	p := &l.Properties
	*p = LatenessProperties{
		From: job.NewTime(r.From), Until: job.NewTime(r.Until), Jobs: r.Jobs, JobsRead: r.Read, Complete: r.Complete, Executions: r.Count,
		Percentiles: LatenessPercentiles{
			percentiles(r.Lateness), percentiles(r.Worker), percentiles(r.Server), percentiles(r.Place), percentiles(r.Send), percentiles(r.Earlier),
		},
		Slowest: []LateExecution{},
	}
	before := 0
	for _, bound := range lateness.Bounds {
		n := r.Lateness.Below(bound)
		p.Histogram = append(p.Histogram, LatenessBar{Below: bound.Seconds(), Count: n - before})
		before = n
	}
	p.Histogram = append(p.Histogram, LatenessBar{Count: r.Count - before})
	for _, one := range r.Slowest {
		p.Slowest = append(p.Slowest, LateExecution{
			ID: ExecutionID(k.Job(one.Job), job.ExecutionName(one.Registration, one.Repeat)), Name: one.Job, ExpectedExecutionTime: job.NewTime(one.Due),
			Split: splitOf(one.Lateness, &one.Split, one.Earlier),
		})
	}
	for _, one := range r.Unread {
		p.Unread = append(p.Unread, UnreadJob{one.Job, one.Why})
	}
	return l
}

func percentiles(h lateness.Histogram) Percentiles {
	at := func(p float64) float64 { return inSeconds(h.Percentile(p)) }
	return Percentiles{at(50), at(90), at(95), at(99), at(100)}
}

func inSeconds(d time.Duration) float64 { return d.Round(100 * time.Microsecond).Seconds() }

func splitOf(late time.Duration, s *job.Split, earlier time.Duration) *Split {
	return &Split{
		Lateness: inSeconds(late), Worker: inSeconds(s.Worker), Server: inSeconds(s.Server), Place: inSeconds(s.Place),
		Send: inSeconds(s.Send), EarlierAttempts: inSeconds(earlier),
	}
}
