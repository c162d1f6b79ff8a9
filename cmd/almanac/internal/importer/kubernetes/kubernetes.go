// Package kubernetes reads CronJobs.
//
// It decodes the few members that matter itself: k8s.io/api with its dependencies would double the program for a dozen
// fields, and has no lines of the source.
package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/cronline"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
	"almanac/recurrence"
)

// Read reads manifests.
func Read(files []source.File, o importer.Options) importer.Result {
	var r importer.Result
	for _, file := range files {
		text, err := file.Read()
		if err != nil {
			r.Problem(file.Name, 0, err.Error())
			continue
		}
		m := manifest{file: file.Name, o: o, result: &r}
		m.read(text)
	}
	return r
}

// A manifest is a file of objects.
type manifest struct {
	file   string
	o      importer.Options
	result *importer.Result
	others int // objects of other kinds
}

func (m *manifest) read(text string) {
	before := len(m.result.Drafts)
	decoder := yaml.NewDecoder(strings.NewReader(text))
	problems := len(m.result.Problems)
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			m.result.Problem(m.file, lineOf(err), unreadable(text))
			break
		}
		nodes := 0
		v, err := convert(&node, 0, &nodes)
		if err != nil {
			m.result.Problem(m.file, node.Line, err.Error())
			continue
		}
		m.object(v, 0)
	}
	switch {
	case len(m.result.Drafts) == before && len(m.result.Problems) == problems:
		m.result.Problem(m.file, 0, "it has no CronJob")
	case m.others > 0 && len(m.result.Drafts) > before:
		m.result.Note(m.file, 0, fmt.Sprintf("objects of other kinds are left out: %d", m.others))
	}
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

func lineOf(err error) (n int) {
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		_, _ = fmt.Sscan(found[1], &n)
	}
	return n
}

func unreadable(text string) string {
	if strings.Contains(text, "{{") {
		return "it is a template of Helm or the like, and no YAML: render it first (helm template)"
	}
	return "it is not YAML from here on"
}

const (
	maxNodes = 500_000
	maxDepth = 100
)

// convert returns a node as a value. Anchors are followed, within the limit of nodes.
func convert(n *yaml.Node, depth int, nodes *int) (*value.Value, error) {
	if *nodes++; *nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("a document has too many values, or they are nested too deep")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return &value.Value{}, nil
		}
		return convert(n.Content[0], depth+1, nodes)
	case yaml.AliasNode:
		return convert(n.Alias, depth+1, nodes)
	case yaml.SequenceNode:
		v := &value.Value{Kind: value.List, Line: n.Line}
		for _, item := range n.Content {
			one, err := convert(item, depth+1, nodes)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, one)
		}
		return v, nil
	case yaml.MappingNode:
		return convertMap(n, depth, nodes)
	}
	return scalar(n), nil
}

func convertMap(n *yaml.Node, depth int, nodes *int) (*value.Value, error) {
	v := value.Obj(n.Line)
	at := make(map[string]int, len(n.Content)/2) // members, by their names in lower case
	set := func(name string, to *value.Value, replace bool) {
		switch i, there := at[strings.ToLower(name)]; {
		case !there:
			at[strings.ToLower(name)] = len(v.Members)
			v.Members = append(v.Members, value.Member{Name: name, Value: to})
		case replace || v.Members[i].Value.Kind == value.Null:
			v.Members[i].Value = to
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		one, err := convert(n.Content[i+1], depth+1, nodes)
		if err != nil {
			return nil, err
		}
		if n.Content[i].Tag == "!!merge" { // <<: *defaults
			for _, m := range one.Members {
				set(m.Name, m.Value, false)
			}
			continue
		}
		one.Line = n.Content[i].Line
		set(n.Content[i].Value, one, true)
	}
	return v, nil
}

func scalar(n *yaml.Node) *value.Value {
	switch n.Tag {
	case "!!null":
		return &value.Value{Line: n.Line}
	case "!!bool":
		return value.Boolean(strings.EqualFold(n.Value, "true"), n.Line)
	case "!!int", "!!float":
		return &value.Value{Kind: value.Number, Text: n.Value, Line: n.Line}
	}
	return value.Text(n.Value, n.Line)
}

// object reads an object, or the items of a list of them.
func (m *manifest) object(v *value.Value, depth int) {
	items := v.Get("items")
	kind, _ := v.Get("kind").Str()
	switch {
	case v.Kind == value.List:
		items = v
	case v.Get("objects") != nil && strings.EqualFold(kind, "Template"): // of OpenShift
		items = v.Get("objects")
	case strings.EqualFold(kind, "CronJob"):
		m.cronJob(v)
		return
	case items == nil && v.Kind == value.Object && len(v.Members) > 0:
		m.others++
	}
	if items == nil || depth >= 5 {
		return
	}
	for _, item := range items.Items {
		if strings.EqualFold(kind, "CronJobList") && item.Get("kind") == nil { // the API leaves it out there
			item.Set("kind", value.Text("CronJob", item.Line))
		}
		m.object(item, depth+1)
	}
}

// cronJob reads a CronJob.
func (m *manifest) cronJob(v *value.Value) {
	name, _ := v.Get("metadata", "name").Str()
	if prefix, ok := v.Get("metadata", "generateName").Str(); ok && name == "" {
		name = strings.TrimRight(prefix, "-")
	}
	d := &importer.Draft{Collection: m.collection(v), Name: name, File: m.file, Line: v.LineOr(1)}
	if len(m.result.Drafts) >= importer.MaxJobs {
		m.result.Problem(m.file, v.Line, fmt.Sprintf("the objects from here on are left out, since there are more than %d", importer.MaxJobs))
		return
	}
	m.result.Drafts = append(m.result.Drafts, d)
	spec := v.Get("spec")
	expr, ok := spec.Get("schedule").Str()
	switch {
	case name == "":
		d.Name = importer.Names{}.Of("cronjob")
		d.Say(importer.Never, "", d.Line, "it has no metadata.name")
		return
	case !ok:
		d.Say(importer.Never, "recurrence", d.Line, "it has no spec.schedule, which Kubernetes requires")
		return
	}
	line := spec.Get("schedule").Line
	expr, zone := m.zone(d, strings.TrimSpace(expr), spec)
	l, err := cronline.Parse(expr, cronline.Kubernetes)
	if err != nil {
		d.Say(importer.Never, "recurrence", line, "Kubernetes does not take spec.schedule: "+err.Error())
		return
	}
	m.build(d, v, l, zone)
}

func (m *manifest) collection(v *value.Value) string {
	namespace, ok := v.Get("metadata", "namespace").Str()
	if m.o.Collection != "" || !ok || namespace == "" {
		return m.o.DefaultCollection()
	}
	return namespace
}

// zone returns the expression without its zone, and the zone; "" if it is not known.
func (m *manifest) zone(d *importer.Draft, expr string, spec *value.Value) (string, string) {
	zone := m.o.Zone
	if name, ok := spec.Get("timeZone").Str(); ok && name != "" {
		zone = name
	}
	if first, rest, _ := strings.Cut(expr, " "); strings.HasPrefix(first, "TZ=") || strings.HasPrefix(first, "CRON_TZ=") {
		_, name, _ := strings.Cut(first, "=")
		if spec.Get("timeZone") != nil {
			d.Say(importer.Never, "recurrence.timeZone", spec.Get("timeZone").Line, "Kubernetes takes no zone in the schedule beside spec.timeZone")
		} else {
			d.Say(importer.Same, "recurrence.timeZone", spec.Get("schedule").Line, "the zone in the schedule counts, as in Kubernetes before 1.29, which refuses it from then on")
		}
		return strings.TrimSpace(rest), name
	}
	return expr, zone
}

// build sets the properties of a draft.
func (m *manifest) build(d *importer.Draft, v *value.Value, l *cronline.Line, zone string) {
	spec := v.Get("spec")
	line := spec.Get("schedule").Line
	var loc *time.Location
	if zone != "" {
		var err error
		if loc, err = recurrence.LoadLocation(zone); err != nil {
			d.Say(importer.Never, "recurrence.timeZone", line, "its zone is not known here")
			return
		}
	}
	recurrences, err := l.Recurrences(zone, line)
	if err != nil {
		d.Say(importer.Never, "recurrence", line, err.Error())
		return
	}
	for _, r := range recurrences {
		if loc == nil && l.Every == 0 {
			r.Set("timeZone", value.Needed(line, "the time zone of the cluster's controller, which is mostly UTC (--time-zone gives it for all objects)"))
		}
		policies(d, r, spec)
	}
	for _, note := range l.Notes {
		d.Say(importer.Same, "recurrence", line, note)
	}
	d.Recurrences, d.Waits = recurrences, l.Waits()
	d.Properties = importer.Repeating(m.action(d, spec), recurrences[0].Clone(), d.Line)
	if l.Every > 0 {
		m.every(d, v, l)
	} else if loc != nil {
		d.Zone = loc
		d.Source = func(from time.Time) iter.Seq[time.Time] { return l.Runs(from, loc) }
	}
	if s := spec.Get("suspend"); yes(s) {
		d.Properties.Set("state", value.Text("disabled", s.Line))
		d.Say(importer.Same, "state", s.Line, "it is suspended, so the job is disabled")
	}
	if s := spec.Get("jobTemplate", "spec", "suspend"); yes(s) {
		d.Properties.Set("state", value.Text("disabled", s.Line))
		d.Say(importer.Same, "state", s.Line, "its runs are suspended until somebody resumes them (jobTemplate.spec.suspend), so the job is disabled")
	}
}

// yes reports whether a value is true in YAML 1.1, which Kubernetes reads.
func yes(v *value.Value) bool { return v.Is("true") || v.Is("yes") || v.Is("on") || v.Is("y") }

// every sets the phase of @every, which counts from the last run, or else from the creation.
func (m *manifest) every(d *importer.Draft, v *value.Value, l *cronline.Line) {
	at := v.Get("status", "lastScheduleTime")
	if at == nil {
		at = v.Get("metadata", "creationTimestamp")
	}
	text, _ := at.Str()
	start, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d.Properties.Set("startTime", value.Needed(v.Get("spec", "schedule").Line, "the time from which @every counts: the last run of the CronJob in the cluster"))
		return
	}
	d.Properties.Set("startTime", value.Text(start.UTC().Format(time.RFC3339), at.Line))
	d.Source = func(from time.Time) iter.Seq[time.Time] {
		return func(yield func(time.Time) bool) {
			t := start
			if t.Before(from) {
				t = start.Add((from.Sub(start) + l.Every - 1) / l.Every * l.Every)
			}
			for yield(t) {
				t = t.Add(l.Every)
			}
		}
	}
}

// policies sets what happens to runs that overlap or come late.
func policies(d *importer.Draft, r, spec *value.Value) {
	policy := "AllowAll"
	switch p := spec.Get("concurrencyPolicy"); {
	case p.Is("Forbid"):
		policy = "BufferOne"
		d.Say(importer.Same, "recurrence.overlapPolicy", p.Line, "Forbid is BufferOne: a run that comes due meanwhile begins when the one before it has ended")
	case p.Is("Replace"):
		d.Say(importer.Differs, "recurrence.overlapPolicy", p.Line, "Replace ends the run before it, and a request that was sent cannot be ended: written as AllowAll")
	}
	if s := spec.Get("startingDeadlineSeconds"); s != nil {
		d.Say(importer.Differs, "recurrence.catchUpWindow", s.Line, "startingDeadlineSeconds leaves out a run that is later than that; after a time in which Almanac was down the latest run due meanwhile always runs")
	}
	r.Set("catchUpWindow", value.Text("PT0S", d.Line)).Set("overlapPolicy", value.Text(policy, d.Line))
}
