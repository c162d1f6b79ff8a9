package input

import (
	"encoding/json"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/preview"
)

// ParsePreview parses a request:
//
//	{"id": "a", "now": "2026-01-01T00:00:00Z", "take": 3, "properties": {"recurrence": {"frequency": "day"}}}
//
// All members are optional. now is the default of the request's now; take defaults to 10. The properties
// may be those of a whole job, and may be at the top. They are validated as by [ParseDefinition] for a new
// job. "calendars" are the calendars of the job by their names, as those that are stored are. The error is an [*job.Error] of [job.KindInvalid]; the preview then still has the ID, if it could be parsed,
// for [preview.Preview.Failed].
func ParsePreview(line []byte, now time.Time) (preview.Preview, error) {
	limits := new(DefaultLimits())
	whole := *limits
	whole.JobBytes = maxPreviewBytes
	p := preview.Preview{Now: now}
	b, err := parseEnvelope(line, &whole, envelope{what: "preview", inside: definitionMembers, beside: []string{"now", "take", "calendars"}})
	if b != nil {
		p.ID = b.previewID()
	}
	if err == nil {
		err = checkPreviewSize(line, limits.JobBytes)
	}
	if err != nil {
		return p, err
	}
	var besides struct {
		Take int       `json:"take" field:"min=1,max=1000,default=10,quoted"`
		Now  *job.Time `json:"now" field:"rule=utcTime"`

		_ struct{} `ignore:"*"`
	}
	b.Rules = fixedRules
	b.Decode(b.tree, "", &besides)
	p.Take = besides.Take
	if besides.Now != nil {
		p.Now = besides.Now.Time
	}
	p.Calendars = b.givenCalendars()
	properties := b.properties
	if b.path == "" {
		properties = properties.Without("now", "take", "calendars")
	}
	p.Definition = b.definition(properties, ParseOptions{Limits: limits, Now: p.Now, Created: p.Now, actionOptional: true, built: true})
	if err := b.err("preview"); err != nil {
		return p, err
	}
	return p, checkStored(&p.Definition)
}

// maxPreviewBytes is the size limit of a preview with its calendars.
const maxPreviewBytes = 1 << 20

// checkPreviewSize returns an error if a body is larger than a job may be, without its calendars.
func checkPreviewSize(body []byte, limit int) error {
	size, besides := len(body), ""
	if size > limit {
		var given struct {
			Calendars json.RawMessage `json:"calendars"`
		}
		if err := json.Unmarshal(body, &given); err != nil {
			return badRequest("%v", err)
		}
		if size -= len(given.Calendars); given.Calendars != nil {
			besides = " without its calendars"
		}
	}
	if size > limit {
		return badRequest("The body is %d bytes long%s; the limit is %d bytes", size, besides, limit)
	}
	return nil
}

// previewID returns the JSON of a string or number.
func (p *parser) previewID() json.RawMessage {
	n := p.tree.Member("id")
	if n == nil {
		return nil
	}
	if n.Kind != fields.String && n.Kind != fields.Number {
		p.Reject("id", n, "a string or a number")
		return nil
	}
	id, err := fields.PlainJSON(n.Scalar())
	if err != nil {
		return nil
	}
	return id
}
