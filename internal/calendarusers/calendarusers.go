// Package calendarusers finds the jobs that use a calendar, by the outlines in Temporal's lists. These lag a little
// behind the jobs.
package calendarusers

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/timetable"
	"almanac/workflows"
)

// A User is a job that names a calendar.
type User struct {
	WorkflowID string
	ID         string // of the resource
	Key        job.Key
	Outline    job.Outline // when it was written last
	Delayed    bool        // its workflow has not begun
}

// Next returns when the job is due next after a time, as far as that follows from its rule alone; false for never.
func (u *User) Next(after time.Time) (time.Time, bool) {
	o := &u.Outline
	t, err := timetable.NominalTimes(&job.Definition{StartTime: o.StartTime, Recurrence: o.Recurrence}, o.Created, nil)
	if err != nil || o.Inactive {
		return time.Time{}, false
	}
	return t.After(after)
}

const pageSize = 500

// Of returns the jobs in the scope of a calendar whose recurrences name it, in no order. A job that names one of the
// subscription may use one of its collection that has the same name.
func Of(ctx context.Context, c client.Client, payloads converter.DataConverter, k job.CalendarKey) (users []User, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: query(k.Scope), PageSize: pageSize,
	}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			if u := userOf(e, payloads, &k); u != nil {
				users = append(users, *u)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return users, nil
		}
	}
}

// query returns the query for the jobs of a scope.
func query(scope job.CollectionKey) string {
	conditions := []string{"WorkflowType = '" + workflows.TypeJob + "'", "ExecutionStatus = 'Running'"}
	for _, is := range [][2]string{
		{workflows.AttributeSubscription, scope.Subscription},
		{workflows.AttributeResourceGroup, scope.ResourceGroup},
		{workflows.AttributeCollection, scope.Name},
	} {
		if is[1] != "" {
			value := strings.ReplaceAll(job.NormalizeName(is[1]), "'", "''")
			conditions = append(conditions, is[0]+" = '"+value+"'")
		}
	}
	return strings.Join(conditions, " AND ")
}

// userOf returns the job of a workflow if it names the calendar; nil otherwise.
func userOf(e *workflowpb.WorkflowExecutionInfo, payloads converter.DataConverter, k *job.CalendarKey) *User {
	id := e.GetExecution().GetWorkflowId()
	u := &User{WorkflowID: id, Delayed: e.GetExecutionTime().AsTime().After(time.Now())}
	decode := func(field string, to any) bool {
		payload := e.GetMemo().GetFields()[field]
		all := &common.Payloads{Payloads: []*common.Payload{payload}}
		return payload != nil && wfclient.ConverterFor(payloads, id).FromPayloads(all, to) == nil
	}
	if e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || !decode(workflows.MemoID, &u.ID) || !within(u.ID, k.Scope) ||
		!decode(workflows.MemoOutline, &u.Outline) {
		return nil
	}
	named := slices.ContainsFunc(u.Outline.Recurrence.CalendarNames(), func(name string) bool {
		return job.NormalizeName(name) == job.NormalizeName(k.Name)
	})
	if !named {
		return nil
	}
	u.Key = keyOf(u.ID)
	return u
}

// keyOf returns the key of a job with an ID such as
// /subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j.
func keyOf(id string) job.Key {
	parts := strings.Split(id, "/")
	if len(parts) != 11 {
		return job.Key{}
	}
	return job.CollectionKey{Subscription: parts[2], ResourceGroup: parts[4], Name: parts[8]}.Job(parts[10])
}

// within reports whether a job is in the scope of calendars.
func within(id string, scope job.CollectionKey) bool {
	prefix := "/subscriptions/" + scope.Subscription + "/"
	if scope.Name != "" {
		prefix = scope.ARMID() + "/"
	}
	return strings.HasPrefix(job.NormalizeName(id), job.NormalizeName(prefix))
}
