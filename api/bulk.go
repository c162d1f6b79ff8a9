package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
)

// Bulk changes many jobs of a collection, for a [Scheduler].
type Bulk interface {
	// Select returns the jobs that a search and a filter select or, if names are given, those, and the names that no job
	// has.
	Select(
		ctx context.Context, k job.CollectionKey, q listing.SummaryQuery, names []string,
	) (jobs []listing.Summary, missing []string, err error)
	// Bulk does something to jobs unless they were changed since. It may be repeated with the same request.
	Bulk(
		ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string,
	) []job.BulkResult
	// BeginBulk is Bulk as an operation, which goes on by itself. The same request is the same operation.
	BeginBulk(
		ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string,
	) (job.Operation, error)
	// BulkResults returns what became of the jobs of an operation that is done and has not failed, and how it stands. It
	// fails with [job.KindNotFound] if there is no such operation on selected jobs.
	BulkResults(ctx context.Context, k job.CollectionKey, id string) (job.Operation, []job.BulkResult, error)
}

// bulkOperation is the number of jobs from which on a selection is an operation.
const bulkOperation = 201

// bulkPage is how many jobs one request changes.
const bulkPage = 100

// maxSelection is the length of the longest selection, in bytes, for which there is room in a body.
const maxSelection = 48 << 10

// previewBulk answers with the jobs that an action would change, and the selection that the action takes.
func (s *server) previewBulk(c *gin.Context, k job.CollectionKey) error {
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	b, err := input.ParseBulk(body)
	if err != nil {
		return err
	}
	_, q, err := odata.ParseSummaryQuery(url.Values{"search": nonEmpty(b.Search), "$filter": nonEmpty(b.Filter)}.Encode())
	if err != nil {
		return err
	}
	jobs, missing, err := s.scheduler.Select(c.Request.Context(), k, q, b.Names)
	if err != nil {
		return err
	}
	promise := b.Promise()
	if promise != nil {
		if wrong := promise.Check(s.Now()); wrong != "" {
			path, allowed, _ := strings.Cut(wrong, ": ")
			return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: "The selection is not valid",
				Fields: []*job.FieldError{{Path: path, Code: fields.OutOfRange, Allowed: allowed}}}
		}
	}
	answered := resource.NewBulkPreview(b.Action, promise, jobs, missing, s.Now())
	if len(answered.Selection) > maxSelection {
		return &job.Error{Kind: job.KindInvalid, Code: "TooManyJobs", Message: fmt.Sprintf(
			"The names of %d jobs are too long to be selected together; select fewer.", len(jobs))}
	}
	if b.Held {
		s.addHeld(c.Request.Context(), k, &answered, promise)
	}
	return answer.JSON(c, http.StatusOK, answered)
}

// addHeld adds what is held of each job that changes. Of jobs that are disabled without more, nothing is: then it has what
// does not run.
func (s *server) addHeld(ctx context.Context, k job.CollectionKey, b *resource.BulkPreview, promise *job.Promise) {
	var p job.Promise
	if promise != nil {
		p = *promise
	}
	state := job.StateEnabled
	if b.Action == job.BulkDisable {
		if state = job.StateDisabled; !p.Holds() {
			p.Recover = job.RecoverNone
		}
	}
	held, errs := s.scheduler.PreviewStates(ctx, k, b.Changing(), state, p)
	for i := range held {
		if errs[i] == nil {
			b.SetHeld(i, &held[i])
		}
	}
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// bulk returns the handler of an action on selected jobs. It answers with the results of a page of them.
func (s *server) bulk(action job.BulkAction) func(*gin.Context, job.CollectionKey) error {
	return func(c *gin.Context, k job.CollectionKey) error {
		body, err := route.ReadBody(c)
		if err != nil {
			return err
		}
		selection, err := input.ParseSelection(body, action)
		if err != nil {
			return err
		}
		from, err := bulkFrom(c, len(selection.Jobs))
		if err != nil {
			return err
		}
		if from == 0 && len(selection.Jobs) >= bulkOperation {
			return s.beginBulk(c, k, &selection)
		}
		until := min(from+bulkPage, len(selection.Jobs))
		ctx := c.Request.Context()
		results := s.scheduler.Bulk(ctx, k, action, selection.Jobs[from:until], selection.Request)
		page := list[resource.BulkResult]{Value: make([]resource.BulkResult, len(results))}
		for i, r := range results {
			page.Value[i] = s.bulkResult(ctx, r)
		}
		if until < len(selection.Jobs) {
			page.NextLink = new(s.nextBulk(c, until))
		}
		return answer.JSON(c, http.StatusOK, page)
	}
}

// beginBulk answers 202 with the operation that changes the jobs of a selection.
func (s *server) beginBulk(c *gin.Context, k job.CollectionKey, selection *input.Selection) error {
	o, err := s.scheduler.BeginBulk(c.Request.Context(), k, selection.Action, selection.Jobs, selection.Request)
	if err != nil {
		return err
	}
	return s.accepted(c, bulkResults, o.ID)
}

// getBulkResults answers with what became of the jobs of an operation; 202 until it has ended.
func (s *server) getBulkResults(c *gin.Context, k job.CollectionKey) error {
	ctx := c.Request.Context()
	o, results, err := s.scheduler.BulkResults(ctx, k, route.Name(c, "id"))
	switch {
	case err != nil:
		return err
	case o.Failed != nil:
		return o.Failed
	case !o.Done:
		return s.accepted(c, bulkResults, o.ID)
	}
	page := list[resource.BulkResult]{Value: make([]resource.BulkResult, len(results))}
	for i, r := range results {
		page.Value[i] = s.bulkResult(ctx, r)
	}
	return answer.JSON(c, http.StatusOK, page)
}

// bulkResult returns the form of a result.
func (s *server) bulkResult(ctx context.Context, r job.BulkResult) resource.BulkResult {
	entry := resource.NewBulkResult(r)
	if r.Err != nil {
		shown := s.errors.Body(
			ctx, http.MethodPost, r.Err, "a job could not be changed", slog.String("job", r.Key.ARMID()),
		)
		entry.Properties.Error = &shown
	}
	return entry
}

// bulkFrom returns where a page of a selection begins.
func bulkFrom(c *gin.Context, jobs int) (int, error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	given := values["$skiptoken"]
	if len(given) == 0 {
		return 0, nil
	}
	from, err := strconv.Atoi(given[0])
	if err != nil || len(given) > 1 || from < 0 || from >= jobs {
		return 0, badQuery("$skiptoken", fields.Invalid, given[0], "the value from the nextLink of the previous page")
	}
	return from, nil
}

// nextBulk returns the link to the page of a selection that begins there.
func (s *server) nextBulk(c *gin.Context, from int) string {
	query := url.Values{"$skiptoken": {strconv.Itoa(from)}}
	if values, err := odata.ParseQuery(c.Request.URL.RawQuery); err == nil && values.Has("api-version") {
		query["api-version"] = values["api-version"]
	}
	return s.base(c.Request) + c.Request.URL.EscapedPath() + "?" + strings.ReplaceAll(query.Encode(), "%24", "$")
}
