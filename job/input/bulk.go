package input

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
)

// A Bulk says which jobs of a collection somebody wants to change.
type Bulk struct {
	Action job.BulkAction `json:"action" field:"required,enum=enable|disable|run|skip|rerun|delete"`
	Names  []string       `json:"names,omitempty"`
	Search string         `json:"search,omitempty"`
	Filter string         `json:"filter,omitempty"`

	// Of enabling and disabling, as [job.Promise] has them.
	Note    string      `json:"note,omitempty"`
	Until   *job.Time   `json:"until,omitempty" field:"rule=utcTime"`
	Recover job.Recover `json:"recover,omitempty" field:"enum=none|latest|all"`
	AtOnce  int         `json:"atOnce,omitempty" field:"min=1,max=100"`

	Held bool `json:"held,omitempty"` // what it holds is asked of each job
}

// Promise returns what is said of enabling or disabling; nil if nothing is.
func (b *Bulk) Promise() *job.Promise {
	p := job.Promise{Note: b.Note, Recover: b.Recover, AtOnce: b.AtOnce}
	if b.Until != nil {
		p.Until = b.Until.UTC().Truncate(time.Second)
	}
	if p == (job.Promise{}) {
		return nil
	}
	return &p
}

// selectionLimits returns the limits of a body that selects jobs: what the API reads of any body.
func selectionLimits() *Limits {
	l := DefaultLimits()
	l.JobBytes = 64 << 10
	return &l
}

// ParseBulk parses a [Bulk]. It has either names or a search, a filter or both.
func ParseBulk(body []byte) (b Bulk, err error) {
	p, err := parseEnvelope(body, selectionLimits(), envelope{
		what: "selection", beside: []string{"action", "names", "search", "filter", "note", "until", "recover", "atOnce", "held"},
	})
	if err != nil {
		return b, err
	}
	p.Rules = fixedRules
	p.Decode(p.tree, "", &b)
	some := b.Search != "" || b.Filter != ""
	switch {
	case len(p.List) > 0:
	case len(b.Names) > job.MaxBulk:
		p.fail("names", fields.TooLong, "", "at most 1,000 names")
	case b.Promise() != nil && b.Action != job.BulkEnable && b.Action != job.BulkDisable:
		p.fail("action", fields.Invalid, string(b.Action), "enable or disable beside note, until, recover and atOnce")
	case b.Held && b.Action != job.BulkEnable && b.Action != job.BulkDisable:
		p.fail("action", fields.Invalid, string(b.Action), "enable or disable beside held")
	case b.Action == job.BulkEnable && (b.Until != nil || b.Note != ""):
		p.fail("until", fields.Invalid, "", "neither until nor note for enable")
	case some == (len(b.Names) > 0):
		p.fail("names", fields.Required, "", "either names, or search, filter or both")
	}
	return b, p.err("selection")
}

// A Selection is which jobs were selected for an action, as they were then. It says nothing that its reader may not
// know, so it is not signed: whoever makes one up may do what it says, or not.
type Selection struct {
	Action job.BulkAction
	Jobs   []job.BulkJob
	// Promise is that of each of them when it is enabled or disabled; nil: none.
	Promise *job.Promise

	// Request names the selection: requests with the same text are the same request.
	Request string
}

// A storedSelection is a selection in its text: each job is its name, its generation and, if there is one, the due time
// to be skipped, in seconds since 1970.
type storedSelection struct {
	Action job.BulkAction `json:"a"`
	Made   int64          `json:"t"`
	Jobs   [][]any        `json:"j"`

	Promise *job.Promise `json:"p,omitempty"`
}

// Text returns the selection in a form that bodies can have. Two that were made at different times differ.
func (s *Selection) Text(now time.Time) string {
	stored := storedSelection{Action: s.Action, Made: now.UnixNano(), Promise: s.Promise}
	for _, j := range s.Jobs {
		one := []any{j.Name, j.Generation}
		if !j.Due.IsZero() {
			one = append(one, j.Due.Unix())
		}
		stored.Jobs = append(stored.Jobs, one)
	}
	var text bytes.Buffer
	w, _ := flate.NewWriter(&text, flate.BestCompression) // the level is one that there is
	_ = json.NewEncoder(w).Encode(stored)                 // a buffer takes everything
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(text.Bytes())
}

// maxUnpacked is how long a selection may be when it is not compressed, in bytes.
const maxUnpacked = 1 << 20

// ParseSelection parses {"selection": "..."}, for an action.
func ParseSelection(body []byte, action job.BulkAction) (s Selection, err error) {
	p, err := parseEnvelope(body, selectionLimits(), envelope{what: "selection", beside: []string{"selection"}})
	if err != nil {
		return s, err
	}
	var sent struct {
		Selection string `json:"selection" field:"required"`
	}
	p.Rules = fixedRules
	p.Decode(p.tree, "", &sent)
	if len(p.List) > 0 {
		return s, p.err("selection")
	}
	stored, ok := readSelection(sent.Selection)
	switch {
	case !ok:
		p.fail("selection", fields.Invalid, "", "the selection that bulkPreview answered with")
	case stored.Promise != nil && stored.Promise.Check(time.Now().Add(-time.Hour)) != "":
		p.fail("selection", fields.Invalid, "", "a selection whose until is to come: select the jobs again")
	case stored.Action != action:
		p.fail("selection", fields.Invalid, "",
			"a selection for "+string(action)+"; this one is for "+string(stored.Action))
	}
	for _, one := range stored.Jobs {
		j, valid := bulkJob(one)
		if !valid && len(p.List) == 0 {
			p.fail("selection", fields.Invalid, "", "the selection that bulkPreview answered with")
		}
		j.Promise = stored.Promise
		s.Jobs = append(s.Jobs, j)
	}
	sum := sha256.Sum256([]byte(sent.Selection))
	s.Action, s.Request = action, base64.RawURLEncoding.EncodeToString(sum[:18])
	return s, p.err("selection")
}

// readSelection reads the text of a selection.
func readSelection(text string) (stored storedSelection, ok bool) {
	packed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return stored, false
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpacked+1))
	if err != nil || len(plain) > maxUnpacked {
		return stored, false
	}
	d := json.NewDecoder(strings.NewReader(string(plain)))
	d.UseNumber()
	return stored, d.Decode(&stored) == nil && len(stored.Jobs) <= job.MaxBulk
}

// bulkJob returns a job of a stored selection.
func bulkJob(one []any) (j job.BulkJob, ok bool) {
	if len(one) < 2 || len(one) > 3 {
		return j, false
	}
	name, isName := one[0].(string)
	generation, isNumber := one[1].(json.Number)
	if !isName || !isNumber {
		return j, false
	}
	number, err := generation.Int64()
	if err != nil || number < 1 {
		return j, false
	}
	j.Name, j.Generation = name, int(number)
	if len(one) == 3 {
		due, isDue := one[2].(json.Number)
		seconds, err := due.Int64()
		if !isDue || err != nil {
			return j, false
		}
		j.Due = time.Unix(seconds, 0).UTC()
	}
	return j, true
}
