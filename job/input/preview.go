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
// job. The error is an [*job.Error] of [job.KindInvalid]; the preview then still has the ID, if it could be parsed,
// for [preview.Preview.Failed].
func ParsePreview(line []byte, now time.Time) (preview.Preview, error) {
	limits := new(DefaultLimits())
	p := preview.Preview{Now: now}
	b, err := parseEnvelope(line, limits, envelope{what: "preview", inside: definitionMembers, beside: []string{"now", "take"}})
	if b != nil {
		p.ID = b.previewID()
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
	properties := b.properties
	if b.path == "" {
		properties = properties.Without("now", "take")
	}
	p.Definition = b.definition(properties, ParseOptions{Limits: limits, Now: p.Now, Created: p.Now, actionOptional: true, built: true})
	if err := b.err("preview"); err != nil {
		return p, err
	}
	return p, checkStored(&p.Definition)
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
