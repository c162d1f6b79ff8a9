package console

import (
	"net/http"
	"net/url"
	"strings"

	"almanac/client"
)

// jobRow returns the row of a job.
func (p *page) jobRow(j client.Job) (jobRow, error) {
	collection, name := j.Names()
	kind := stateOf(&j.Properties)
	row := jobRow{Mark: kind, Word: words[kind], Name: name, Collection: collection, Link: p.JobLink(collection, name),
		Target: target(&j.Properties.Action)}
	row.Next = p.Clock.For(j.Properties.Recurrence).next(&j.Properties)
	when, err := p.when(collection, &j.Properties)
	row.When = when
	return row, err
}

// stateOf returns the mark of a job.
func stateOf(j *client.JobProperties) string {
	s := j.Status
	switch {
	case j.State == client.JobDisabled:
		return "off"
	case s != nil && s.Retry != nil && s.Retry.NextAttemptTime.IsZero():
		return "run"
	case s != nil && s.Retry != nil:
		return "retry"
	case j.State == client.JobFaulted:
		return "fail"
	case j.State == client.JobCompleted:
		return "done"
	case s == nil || s.LastOutcome == nil:
		return "next"
	}
	return markOf(s.LastOutcome.Status)
}

// next returns what comes next of a job.
func (c clock) next(j *client.JobProperties) next {
	s := j.Status
	switch {
	case j.State == client.JobDisabled:
		var as *client.Disabled
		if s != nil {
			as = s.Disabled
		}
		return c.stopped(as, "disabled")
	case s == nil:
		return next{Text: "unknown", Class: "mid"}
	case s.Retry != nil:
		text := "waits for a retry, " + ofMost(s.Retry.Attempt, s.Retry.MaxAttempts)
		if s.Retry.NextAttemptTime.IsZero() {
			return next{Text: "attempt " + ofMost(s.Retry.Attempt, s.Retry.MaxAttempts) + " runs", Class: "warn"}
		}
		return next{Text: text, Rel: c.rel(s.Retry.NextAttemptTime), Class: "warn"}
	case !s.NextExecutionTime.IsZero() && s.NextExecutionTime.Before(c.Now):
		return next{Text: "due now", At: c.at(s.NextExecutionTime), Class: "mid"}
	case !s.NextExecutionTime.IsZero():
		return next{Rel: c.rel(s.NextExecutionTime), At: c.at(s.NextExecutionTime)}
	case j.State == client.JobCompleted, j.State == client.JobFaulted:
		return next{Text: "over: no occurrence is left", Class: "mid"}
	}
	return next{Text: s.Reason, Class: "mid"}
}

func ofMost(n, most int) string { return count(n) + " of " + count(most) }

// target returns where an action sends to, for people.
func target(a *client.Action) string {
	switch {
	case a.Request != nil:
		if u, err := url.Parse(a.Request.URI); err == nil && u.Host != "" {
			return u.Host
		}
		return a.Request.URI
	case a.QueueMessage != nil:
		return "queue " + a.QueueMessage.QueueName
	case a.ServiceBusQueueMessage != nil:
		return "queue " + a.ServiceBusQueueMessage.QueueName
	case a.ServiceBusTopicMessage != nil:
		return "topic " + a.ServiceBusTopicMessage.TopicPath
	}
	return a.Type
}

// sends returns what an action does, for people.
func sends(a *client.Action) string {
	if r := a.Request; r != nil {
		method := strings.ToUpper(r.Method)
		if method == "" {
			method = http.MethodGet
		}
		return method + " " + r.URI
	}
	switch {
	case a.QueueMessage != nil:
		return "message to the queue " + a.QueueMessage.QueueName + " of " + a.QueueMessage.StorageAccount
	case a.ServiceBusQueueMessage != nil:
		return "message to the queue " + a.ServiceBusQueueMessage.QueueName + " of " + a.ServiceBusQueueMessage.Namespace
	case a.ServiceBusTopicMessage != nil:
		return "message to the topic " + a.ServiceBusTopicMessage.TopicPath + " of " + a.ServiceBusTopicMessage.Namespace
	}
	return a.Type
}
