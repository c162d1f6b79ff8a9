package trail

import (
	"math"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/registries"
)

// A subject follows what a run of a workflow has stored, from its input and its updates.
type subject interface {
	// start takes the input of the run. It returns the newest earlier run with a change; "" if it is not known.
	start(input decoder) (changed string)
	// operation returns the operation of an update or a signal; "" if it is no change of the subject.
	operation(name string, arg decoder) audit.Operation
	// apply takes an update that succeeded, and returns what it changed.
	apply(name string, arg decoder) []audit.Difference
	created() audit.Operation
	removed() audit.Operation
}

// A jobSubject follows a job's definition.
type jobSubject struct {
	definition job.Definition
	disabled   bool // its collection is not enabled
	collection int  // generation of the collection in that state
	pruning    *job.Pruning
}

func (*jobSubject) created() audit.Operation { return audit.WriteJob }

func (*jobSubject) removed() audit.Operation { return audit.DeleteJob }

func (s *jobSubject) start(decode decoder) string {
	var in state.Input
	decode(&in)
	s.pruning = in.Pruning
	s.definition, s.disabled, s.collection = in.Definition, in.CollectionDisabled, in.Collection
	return in.ChangedRun
}

func (s *jobSubject) operation(name string, arg decoder) audit.Operation {
	if name != workflows.UpdateCollection {
		return workflows.JobUpdates.Find(name).Operation
	}
	var c workflows.CollectionState
	switch arg(&c); {
	// It is sent for other changes of the collection, too, and may be late.
	case c.Disabled == s.disabled || c.Generation < s.collection:
		return ""
	case c.Disabled:
		return audit.DisableCollection
	default:
		return audit.EnableCollection
	}
}

func (s *jobSubject) apply(name string, arg decoder) []audit.Difference {
	before := s.definition
	switch name {
	case workflows.UpdateCollection:
		var c workflows.CollectionState
		if arg(&c); c.Generation == math.MaxInt { // it has ended its pause by itself
			s.disabled = false
		} else if c.Generation >= s.collection {
			s.disabled, s.collection = c.Disabled, c.Generation
		}
	case workflows.UpdateEnable:
		s.definition.State, s.pruning = job.StateEnabled, nil
	case workflows.UpdateDisable:
		s.definition.State, s.pruning = job.StateDisabled, nil
	case workflows.UpdatePrune:
		if s.pruning == nil {
			s.pruning = &job.Pruning{State: before.State}
		}
		s.definition.State = job.StateDisabled
	case workflows.UpdateRestore:
		if s.pruning != nil {
			s.definition.State, s.pruning = s.pruning.Former(), nil
		}
	case workflows.UpdateReplace:
		var r workflows.ReplaceRequest
		arg(&r)
		s.pruning = nil
		r.Definition.KeepOwner(&before)
		// The error is about secrets that are missing, which the workflow would have refused.
		s.definition, _ = input.KeepSecrets(r.Definition, &before, r.Retarget)
	default:
		return nil
	}
	return versionOfJob(before).Differences(versionOfJob(s.definition))
}

func versionOfJob(d job.Definition) audit.Version {
	type resource struct {
		Properties job.Definition `json:"properties"`
	}
	d.Local, d.Owner = nil, "" // no part of the resource
	return audit.NewVersion(resource{d}, resource{d.Redacted()})
}

// A collectionSubject follows the properties of a job collection.
type collectionSubject struct{ collection job.Collection }

func (*collectionSubject) created() audit.Operation { return audit.WriteCollection }

func (*collectionSubject) removed() audit.Operation { return audit.DeleteCollection }

func (s *collectionSubject) start(decode decoder) string {
	var in registries.CollectionInput
	decode(&in)
	s.collection = in.Collection
	return ""
}

func (*collectionSubject) operation(name string, _ decoder) audit.Operation {
	return workflows.CollectionUpdates.Find(name).Operation
}

func (s *collectionSubject) apply(name string, arg decoder) []audit.Difference {
	before := s.collection
	switch name {
	case workflows.UpdateEnable:
		s.collection.Properties.State = job.CollectionEnabled
	case workflows.UpdateDisable:
		s.collection.Properties.State = job.CollectionDisabled
	case workflows.UpdatePut:
		var r workflows.PutRequest
		arg(&r)
		s.collection = r.Collection
		s.collection.Properties, _ = input.KeepCollectionSecrets(r.Properties, before.Properties, r.Retarget)
	default:
		return nil
	}
	return versionOfCollection(before).Differences(versionOfCollection(s.collection))
}

func versionOfCollection(c job.Collection) audit.Version {
	c.Key, c.Generation = job.CollectionKey{}, 0
	shown := c
	shown.Properties = c.Properties.Redacted()
	return audit.NewVersion(c, shown)
}
