package console

import (
	"almanac/access"
	"almanac/client"
)

// An aboutView is the page about the service.
type aboutView struct {
	Ready   client.Health
	Build   client.Build
	Actions []string // what the caller may do in every collection of the resource group
}

func (s *Console) about(p *page) error {
	ready, err := p.api().Ready(p.ctx)
	if err != nil {
		return err
	}
	alive, err := p.api().Health(p.ctx)
	if err != nil {
		return err
	}
	v := aboutView{Ready: ready}
	if alive.Build != nil {
		v.Build = *alive.Build
	}
	for _, deed := range deedsByAction {
		if p.May(deed.action, "", "") {
			v.Actions = append(v.Actions, deed.words)
		}
	}
	p.template, p.Title, p.Current, p.Main = "about", "About", "About", v
	return nil
}

// deedsByAction are what a caller may do, in words.
var deedsByAction = []struct {
	action access.Action
	words  string
}{
	{access.ReadJobs, "see jobs and their history"}, {access.RunJobs, "run"}, {access.SkipJobs, "skip"}, {access.EnableJobs, "enable"},
	{access.DisableJobs, "disable"}, {access.WriteJobs, "create and change"}, {access.DeleteJobs, "delete"},
	{access.WriteCollections, "create and change job collections"}, {access.WriteAssignments, "decide who may do what"},
}
