package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// What the forms of a job do. Each returns the path of the page that shows it.

func (s *Console) run(p *page) (string, error) {
	collection, name := p.names()
	execution, err := p.api().RunJob(p.ctx, collection, name)
	if err != nil {
		return "", err
	}
	return jobPath(collection, name, "executions", execution), nil
}

func (s *Console) rerun(p *page) (string, error) {
	collection, name := p.names()
	done, err := p.api().RerunJob(p.ctx, collection, name, newToken())
	if err != nil {
		return "", err
	}
	switch done.Properties.Status {
	case client.RerunStarted:
		parts := strings.Split(done.Properties.Execution, "/")
		return jobPath(collection, name, "executions", parts[len(parts)-1]), nil
	case client.RerunNotFailed:
		return jobPath(collection, name) + "?done=notfailed", nil
	case client.RerunUnderWay:
		return jobPath(collection, name) + "?done=underway", nil
	}
	refused := &client.Error{Status: http.StatusConflict, Message: "The run was refused."}
	if e := done.Properties.Error; e != nil {
		refused.Code, refused.Message, refused.Details = e.Code, e.Message, e.Details
	}
	return "", refused
}

func (s *Console) skip(p *page) (string, error) {
	collection, name := p.names()
	due, err := time.Parse(time.RFC3339Nano, p.r.PostForm.Get("due"))
	if err != nil {
		return "", &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: "The form does not say which occurrence to skip. Nothing was done."}
	}
	if _, err := p.api().SkipOccurrence(p.ctx, collection, name, due); err != nil {
		return "", err
	}
	return jobPath(collection, name) + "?done=skipped&due=" + url.QueryEscape(string(client.At(due))), nil
}

// unskip has a skipped occurrence, or all of a time, run after all.
func (s *Console) unskip(p *page) (string, error) {
	collection, name := p.names()
	var which client.Occurrences
	for field, at := range map[string]*time.Time{"due": &which.Due, "from": &which.From, "until": &which.Until} {
		text := p.r.PostForm.Get(field)
		if text == "" {
			text = p.r.URL.Query().Get(field)
		}
		if text == "" {
			continue
		}
		found, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return "", badForm("The form does not say which occurrence to run after all.")
		}
		*at = found
	}
	if which.Due.IsZero() && which.From.IsZero() {
		return "", badForm("The form does not say which occurrence to run after all.")
	}
	_, err := p.api().UnskipOccurrences(p.ctx, collection, name, which)
	return jobPath(collection, name) + "?done=unskipped", err
}

func (s *Console) enable(p *page) (string, error) {
	collection, name := p.names()
	_, err := p.api().EnableJob(p.ctx, collection, name)
	return jobPath(collection, name) + "?done=enabled", err
}

func (s *Console) disable(p *page) (string, error) {
	collection, name := p.names()
	_, err := p.api().DisableJob(p.ctx, collection, name)
	return jobPath(collection, name) + "?done=disabled", err
}

// restoreJob takes a pruned job back.
func (s *Console) restoreJob(p *page) (string, error) {
	collection, name := p.names()
	_, err := p.api().RestoreJob(p.ctx, collection, name)
	return jobPath(collection, name) + "?done=restored", err
}

// deleteView is the page that asks before a job is deleted.
type deleteView struct {
	Collection, Name, Path, ETag string
	Executions                   int
	Disable                      bool // whether it can be disabled instead
}

func (s *Console) confirmDelete(p *page) error {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return err
	}
	if !p.May(access.DeleteJobs, collection, name) {
		return forbidden("delete this job")
	}
	v := deleteView{ETag: j.ETag}
	v.Disable = j.Properties.State == client.JobEnabled && p.May(access.DisableJobs, collection, name)
	v.Collection, v.Name = j.Names()
	v.Path = jobPath(v.Collection, v.Name)
	if j.Properties.Status != nil {
		v.Executions = j.Properties.Status.ExecutionCount
	}
	p.template, p.Title, p.Current, p.Main = "delete", "Delete "+v.Name+"?", "Jobs", v
	return nil
}

// forbidden returns the error of a page for what the caller may not do.
func forbidden(what string) error {
	return &client.Error{
		Status: http.StatusForbidden, Code: "AuthorizationFailed", Message: "You may not " + what + ".",
	}
}

func (s *Console) deleteJob(p *page) (string, error) {
	collection, name := p.names()
	if p.r.PostForm.Get("name") != name {
		return "", &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: "The name that was typed is not that of the job. Nothing was deleted."}
	}
	var conditions []client.Condition
	if etag := p.r.PostForm.Get("etag"); etag != "" {
		conditions = append(conditions, client.IfMatch(etag))
	}
	err := p.api().DeleteJob(p.ctx, collection, name, conditions...)
	return strings.TrimSuffix(jobPath(collection, ""), "/") + "?done=deleted", err
}

// changeCollection enables or disables a collection.
func (s *Console) changeCollection(
	p *page, change func(context.Context, string) (*client.Operation, error), done string,
) (string, error) {
	name := p.r.PathValue("collection")
	operation, err := change(p.ctx, name)
	if operation != nil {
		done = "collectionchanges"
	}
	return strings.TrimSuffix(jobPath(name, ""), "/") + "?done=" + done, err
}

// An executionView is the page of one execution, which is loaded again until it has ended.
type executionView struct {
	Collection, Name, Path string
	Execution              string
	Mark, Word             string
	Due                    *stamp
	Reason                 string
	Caller                 string
	ID                     string
	Attempts               []attempt
	Retry                  *trouble
	Ended, Watch           bool
}

func (s *Console) execution(p *page) error {
	collection, name := p.names()
	e, err := p.api().Execution(p.ctx, collection, name, p.r.PathValue("execution"))
	if status := client.StatusOf(err); status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		p.Refresh = 5 // it is watched on
	}
	if err != nil {
		return err
	}
	q := e.Properties
	v := executionView{Path: jobPath(collection, name), Execution: p.r.PathValue("execution"), Due: p.Clock.at(q.ExpectedExecutionTime),
		Reason: q.Reason, Caller: q.Caller, ID: q.ExecutionID, Ended: q.Status == client.Ended}
	v.Collection, v.Name = client.NamesOf(e.Name)
	v.Mark = map[client.Stage]string{client.Waiting: "next", client.Running: "run"}[q.Status]
	v.Word = map[client.Stage]string{client.Waiting: "Waits", client.Running: "Running"}[q.Status]
	if v.Ended {
		v.Mark = markOf(q.Outcome)
		v.Word = words[v.Mark]
		if v.Mark == "" {
			v.Mark, v.Word = "done", "Ended"
		}
	} else if p.r.URL.Query().Get("watch") != "off" {
		v.Watch, p.Refresh = true, 2
		if r := q.Retry; r != nil && r.NextAttemptTime.Sub(p.Clock.Now) > time.Minute {
			p.Refresh = 30
		}
	}
	if r := q.Retry; r != nil {
		v.Mark, v.Word = "retry", "Waits for attempt "+ofMost(r.Attempt, r.MaxAttempts)
		v.Retry = &trouble{Lead: v.Word, At: p.Clock.at(r.NextAttemptTime)}
	}
	entries := make([]client.HistoryProperties, 0, len(q.History))
	for _, e := range slices.Backward(q.History) {
		entries = append(entries, e.Properties)
	}
	v.Attempts = attemptsOf(entries, p.Clock)
	p.template, p.Title, p.Current, p.Main = "execution", "A run of "+v.Name, "Jobs", v
	return nil
}
