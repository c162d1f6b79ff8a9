package console

import (
	"net/http"
	"net/url"
	"strings"

	"almanac/access"
	"almanac/client"
)

// A collectionView is the page at which a job collection is created, or its settings are changed.
type collectionView struct {
	New    bool
	Name   string
	Path   string // of the form
	Back   string
	ETag   string
	Fields fields
	Was    fields // what the collection has
	Errors map[string][]string
	Listed []listedError
	Wrong  string

	Notifications int
	Pause         bool // the caller may pause it, at a page that says what that holds
}

// Escaped returns the name for a path.
func (v *collectionView) Escaped() string { return url.PathEscape(v.Name) }

// Anchor returns the id of a field.
func (v *collectionView) Anchor(field string) string { return "f-" + field }

// plans are those of a collection, and the one that it has.
func plans(now string) []choice {
	return with(now, choice{"P20Premium", "P20Premium"}, same("P10Premium"), same("Premium"), same("Standard"), same("Free"))
}

// collectionStates are those of a collection.
func collectionStates() []choice {
	return []choice{{"Enabled", "enabled"}, {"Disabled", "disabled: nothing runs on its schedule"}, {"Suspended", "suspended: nothing runs on its schedule"}}
}

// atMosts are the units of the shortest time between two runs.
func atMosts() []choice {
	return []choice{{"", "as the plan says"}, {"minute", "minutes"}, {"hour", "hours"}, {"day", "days"}, {"week", "weeks"}, {"month", "months"}}
}

// settingOf are the fields of the members of a collection.
var settingOf = []struct{ path, field string }{
	{"properties.sku", "plan"}, {"properties.quota.maxJobCount", "maxJobCount"}, {"properties.quota.maxRecurrence.interval", "mostInterval"},
	{"properties.quota.maxRecurrence", "mostFrequency"}, {"properties.flexibleWindow", "flexibleWindow"}, {"properties.state", "state"}, {"name", "name"},
}

func settingsOf(c *client.CollectionProperties) fields {
	f := fields{"plan": c.SKU.Name, "flexibleWindow": c.FlexibleWindow, "state": string(c.State)}
	if f["state"] == "" {
		f["state"] = string(client.CollectionEnabled)
	}
	if q := c.Quota; q != nil {
		if q.MaxJobCount > 0 {
			f["maxJobCount"] = itoa(q.MaxJobCount)
		}
		if m := q.MaxRecurrence; m != nil {
			f["mostFrequency"], f["mostInterval"] = strings.ToLower(m.Frequency), itoa(max(1, m.Interval))
		}
	}
	return f
}

// settingNames are the fields of the form.
var settingNames = []string{"plan", "maxJobCount", "mostInterval", "mostFrequency", "flexibleWindow", "state"}

// settingsPatch returns the properties that a form changes of a collection, or says of a new one.
func settingsPatch(was, is fields) map[string]any {
	properties, quota := map[string]any{}, map[string]any{}
	changed := func(names ...string) bool {
		for _, name := range names {
			if was[name] != is[name] {
				return true
			}
		}
		return false
	}
	orNull := func(text string, value any) any {
		if text == "" {
			return nil
		}
		return value
	}
	if changed("plan") {
		properties["sku"] = map[string]any{"name": is["plan"]}
	}
	if changed("maxJobCount") {
		quota["maxJobCount"] = orNull(is["maxJobCount"], numberOr(is["maxJobCount"]))
	}
	if changed("mostFrequency", "mostInterval") {
		most := map[string]any{"frequency": is["mostFrequency"], "interval": 1}
		if is["mostInterval"] != "" {
			most["interval"] = numberOr(is["mostInterval"])
		}
		quota["maxRecurrence"] = orNull(is["mostFrequency"], most)
	}
	if len(quota) > 0 {
		properties["quota"] = quota
	}
	if changed("flexibleWindow") {
		properties["flexibleWindow"] = orNull(is["flexibleWindow"], is["flexibleWindow"])
	}
	if changed("state") {
		properties["state"] = is["state"]
	}
	return properties
}

func (p *page) showSettings(v *collectionView) {
	title := "Settings of " + v.Name
	if v.New {
		title = "New collection"
	}
	p.template, p.Title, p.Current, p.Main = "collection", title, "Jobs", v
}

func (s *Console) newCollection(p *page) error {
	if !p.May(access.WriteCollections, "", "") {
		return forbidden("create job collections")
	}
	p.showSettings(&collectionView{New: true, Path: "/settings", Back: p.Link("/jobs"), Fields: fields{"plan": "P20Premium", "state": "Enabled"}})
	return nil
}

func (s *Console) collectionSettings(p *page) error {
	v, _, err := s.settings(p)
	if err != nil {
		return err
	}
	p.showSettings(v)
	return nil
}

// settings returns the page of a collection that exists, and the collection.
func (s *Console) settings(p *page) (*collectionView, *client.Collection, error) {
	of, err := p.api().Collection(p.ctx, p.r.PathValue("collection"))
	if err != nil {
		return nil, nil, err
	}
	if !p.May(access.WriteCollections, of.Name, "") {
		return nil, nil, forbidden("change this collection")
	}
	v := &collectionView{Name: of.Name, Path: "/settings/" + url.PathEscape(of.Name), Back: p.CollectionLink(of.Name), ETag: of.ETag,
		Fields: settingsOf(&of.Properties), Was: settingsOf(&of.Properties), Notifications: len(of.Properties.Notifications), Pause: p.May(access.DisableCollections, of.Name, "")}
	return v, &of, nil
}

// filledSettings returns what a form says.
func filledSettings(form url.Values) fields {
	f := fields{}
	for _, name := range settingNames {
		f[name] = strings.TrimSpace(form.Get(name))
	}
	return f
}

// refuseSettings shows a form again, with why it was refused.
func (s *Console) refuseSettings(p *page, v *collectionView, err error) (string, error) {
	e := s.told(p, err)
	p.status, v.Wrong, v.Errors = e.Status, e.Message, map[string][]string{}
	for _, d := range e.Details {
		field := d.Target
		for _, one := range settingOf {
			if d.Target == one.path || strings.HasPrefix(d.Target, one.path+".") {
				field = one.field
				break
			}
		}
		v.Errors[field] = append(v.Errors[field], d.Message)
		v.Listed = append(v.Listed, listedError{field, d.Message, d.Target})
	}
	p.showSettings(v)
	return "", nil
}

func (s *Console) saveSettings(p *page) (string, error) {
	v, of, err := s.settings(p)
	if err != nil {
		return "", err
	}
	form := p.r.PostForm
	opened := fields{} // what the page had when it was opened
	for _, name := range settingNames {
		opened[name] = form.Get("was-" + name)
	}
	is := filledSettings(form)
	changes := settingsPatch(opened, is)
	etag := form.Get("etag")
	if etag != of.ETag {
		v.Fields = is
		for _, name := range settingNames { // what nobody wrote here is as it is now
			if is[name] == opened[name] {
				v.Fields[name] = v.Was[name]
			}
		}
		return s.refuseSettings(p, v, &client.Error{Status: http.StatusPreconditionFailed, Code: "PreconditionFailed",
			Message: "Somebody changed the collection while you were editing. Nothing was saved. Save again to change what you wrote below."})
	}
	if len(changes) > 0 {
		if _, err = p.api().PatchCollection(p.ctx, of.Name, map[string]any{"properties": changes}, client.IfMatch(etag)); err != nil {
			v.Fields = is
			return s.refuseSettings(p, v, err)
		}
	}
	return strings.TrimSuffix(jobPath(of.Name, ""), "/") + "?done=settings", nil
}

func (s *Console) createCollection(p *page) (string, error) {
	form := p.r.PostForm
	v := &collectionView{New: true, Name: strings.TrimSpace(form.Get("name")), Path: "/settings", Back: p.Link("/jobs"), Fields: filledSettings(form)}
	if v.Name == "" {
		return s.refuseSettings(p, v, wrongField("name", "name: required; allowed: a name that no job collection has"))
	}
	of := map[string]any{"properties": settingsPatch(fields{}, v.Fields)}
	_, err := p.api().PutCollectionBody(p.ctx, v.Name, of, client.IfAbsent())
	switch {
	case client.IsChanged(err):
		err = wrongField("name", "name: there is a job collection of this name already; choose another one. Nothing was changed.")
	case client.CodeOf(err) == "InvalidResourceName":
		err = wrongField("name", err.Error())
	}
	if err != nil {
		return s.refuseSettings(p, v, err)
	}
	return strings.TrimSuffix(jobPath(v.Name, ""), "/") + "?done=collection", nil
}
